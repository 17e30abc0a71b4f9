#include "fixture_tools.h"

#include <fmt/format.h>
#include <poll.h>

#include <functional>
#include <map>
#include <thread>

#include "fixture_host.h"

namespace nutshell::mcp {

using namespace std::chrono_literals;

namespace {

constexpr const char* kPixel =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg"
    "==";
// A WAVE file with one sample of silence.
constexpr const char* kSilence = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQIAAAAAAA==";

Reply content(const Json& blocks) {
  return Answer{Json{{"content", blocks}}.dump()};
}

Json text_block(const std::string& text) {
  return {{"type", "text"}, {"text", text}};
}

Reply text(const std::string& words) {
  return content(Json::array({text_block(words)}));
}

Reply error(const std::string& words) {
  return Answer{Json{{"content", {text_block(words)}}, {"isError", true}}.dump()};
}

Json image_block() {
  return {{"type", "image"}, {"data", kPixel}, {"mimeType", "image/png"}};
}

Json resource_block(const std::string& uri, const std::string& type, const std::string& words) {
  return {{"type", "resource"}, {"resource", {{"uri", uri}, {"mimeType", type}, {"text", words}}}};
}

Json sampling(const std::string& prompt, int most) {
  const Json message = {{"role", "user"}, {"content", text_block(prompt)}};
  return {{"method", "sampling/createMessage"},
          {"params", {{"messages", Json::array({message})}, {"maxTokens", most}}}};
}

Json roots() {
  return {{"method", "roots/list"}, {"params", Json::object()}};
}

// The handshake era: the client is asked while the call runs.
Reply asked(Call& call, const std::string& method, const Json& params,
            const std::function<Reply(const Json&)>& told) {
  const auto answer = call.ask(method, params.dump());
  if (!answer) return error(answer.error().message);
  return told(Json::parse(*answer));
}

Reply elicited_by_form(Call& call, const std::string& message, const Json& schema,
                       const std::string& begin) {
  return asked(
      call, "elicitation/create", {{"message", message}, {"requestedSchema", schema}},
      [&begin](const Json& answer) {
        return text(fmt::format("{}: action={}, content={}", begin, answer.value("action", "none"),
                                answer.value("content", Json::object()).dump()));
      });
}

Json defaults_schema() {
  return Json::parse(R"({"type":"object","properties":{
    "name":{"type":"string","description":"Name","default":"John Doe"},
    "age":{"type":"integer","description":"Age","default":30},
    "score":{"type":"number","description":"Score","default":95.5},
    "status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},
    "verified":{"type":"boolean","description":"Verified","default":true}},"required":[]})");
}

Json enums_schema() {
  return Json::parse(R"({"type":"object","properties":{
    "untitledSingle":{"type":"string","enum":["option1","option2","option3"]},
    "titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First Option"},
      {"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]},
    "legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],
      "enumNames":["Option One","Option Two","Option Three"]},
    "untitledMulti":{"type":"array","items":{"type":"string","enum":["option1","option2","option3"]}},
    "titledMulti":{"type":"array","items":{"anyOf":[{"const":"value1","title":"First Choice"},
      {"const":"value2","title":"Second Choice"},{"const":"value3","title":"Third Choice"}]}}},
    "required":[]})");
}

Json user_schema() {
  return Json::parse(R"({"type":"object","properties":{
    "username":{"type":"string","description":"User's response"},
    "email":{"type":"string","description":"User's email address"}},
    "required":["username","email"]})");
}

Json schema_2020() {
  return Json::parse(R"({"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
    "$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{
      "street":{"type":"string"},"city":{"type":"string"}}}},
    "properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},
      "contactMethod":{"type":"string","enum":["phone","email"]},
      "phone":{"type":"string"},"email":{"type":"string"}},
    "allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],
    "if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},
    "then":{"required":["phone"]},"else":{"required":["email"]},"additionalProperties":false})");
}

Json one_string(const std::string& name) {
  return {{"type", "object"},
          {"properties", {{name, {{"type", "string"}}}}},
          {"required", Json::array({name})}};
}

}  // namespace

Reply ask_back(const Json& requests, const std::string& state) {
  Json object = {{"inputRequests", requests}};
  if (!state.empty()) object["requestState"] = state;
  return Answer{object.dump(), Answer::Type::InputRequired};
}

Json elicitation(const std::string& message, const std::string& field, const std::string& type) {
  const Json schema = {{"type", "object"},
                       {"properties", {{field, {{"type", type}}}}},
                       {"required", Json::array({field})}};
  return {{"method", "elicitation/create"},
          {"params", {{"message", message}, {"requestedSchema", schema}}}};
}

std::optional<Json> response_of(const Call& call, const std::string& name) {
  const std::string given = call.input_responses();
  if (given.empty()) return std::nullopt;
  const Json parsed = Json::parse(given);
  const auto found = parsed.find(name);
  if (found == parsed.end() || !found->is_object()) return std::nullopt;
  return *found;
}

std::optional<Json> elicited(const Call& call, const std::string& name) {
  const auto response = response_of(call, name);
  if (!response || response->value("action", "") != "accept") return std::nullopt;
  const auto filled = response->find("content");
  if (filled == response->end() || !filled->is_object()) return std::nullopt;
  return *filled;
}

// Every tool is a name, a schema if it has one, and what it does.
struct FixtureTools {
  using Run = Reply (*)(FixtureHost&, Call&, const Json& arguments);
  struct Entry {
    std::string name;
    Run run;
    Json schema = {{"type", "object"}, {"properties", Json::object()}};
  };

  static Reply progress(FixtureHost& /*host*/, Call& call, const Json& /*arguments*/) {
    for (const int step : {0, 50, 100}) {
      call.report(step, 100, fmt::format("Step {}", step));
      std::this_thread::sleep_for(50ms);
    }
    return text("Progress was reported.");
  }
  static Reply logging(FixtureHost& /*host*/, Call& call, const Json& /*arguments*/) {
    for (const char* line :
         {"Tool execution started", "Tool processing data", "Tool execution completed"}) {
      call.log(LogLevel::Info, line);
      std::this_thread::sleep_for(50ms);
    }
    return text("Three lines were logged.");
  }
  static Reply sample(FixtureHost& /*host*/, Call& call, const Json& arguments) {
    const Json request = sampling(arguments.value("prompt", ""), 100);
    return asked(call, "sampling/createMessage", request["params"], [](const Json& answer) {
      return text("LLM response: " + answer.value("/content/text"_json_pointer, ""));
    });
  }
  static Reply elicit(FixtureHost& /*host*/, Call& call, const Json& arguments) {
    return elicited_by_form(call, arguments.value("message", ""), user_schema(), "User response");
  }
  static Reply defaults(FixtureHost& /*host*/, Call& call, const Json& /*arguments*/) {
    return elicited_by_form(call, "Check the defaults", defaults_schema(), "Elicitation completed");
  }
  static Reply enums(FixtureHost& /*host*/, Call& call, const Json& /*arguments*/) {
    return elicited_by_form(call, "Choose", enums_schema(), "Elicitation completed");
  }
  static Reply missing_capability(FixtureHost& /*host*/, Call& call, const Json& /*arguments*/) {
    if (call.client().can("sampling")) return text("Sampling can be asked for.");
    return Problem{kMissingCapability, "Missing required client capability: sampling",
                   R"({"requiredCapabilities":{"sampling":{}}})"};
  }
  static Reply change_tools(FixtureHost& host, Call& /*call*/, const Json& /*arguments*/) {
    host.server_->tell_changed(Listing::Tools);
    return text("told");
  }
  static Reply change_prompts(FixtureHost& host, Call& /*call*/, const Json& /*arguments*/) {
    host.server_->tell_changed(Listing::Prompts);
    return text("told");
  }
  static Reply ask_name(FixtureHost& /*host*/, Call& call, const Json& /*arguments*/) {
    const auto filled = elicited(call, "user_name");
    if (!filled || !filled->contains("name"))
      return ask_back({{"user_name", elicitation("What is your name?", "name", "string")}});
    return text(fmt::format("Hello, {}!", filled->value("name", "")));
  }
  static Reply ask_model(FixtureHost& /*host*/, Call& call, const Json& /*arguments*/) {
    const auto answer = response_of(call, "capital_question");
    if (!answer)
      return ask_back({{"capital_question", sampling("What is the capital of France?", 100)}});
    return text(answer->dump());
  }
  static Reply ask_roots(FixtureHost& /*host*/, Call& call, const Json& /*arguments*/) {
    const auto answer = response_of(call, "client_roots");
    if (!answer) return ask_back({{"client_roots", roots()}});
    return text(answer->dump());
  }
  static Reply keep_state(FixtureHost& host, Call& call, const Json& /*arguments*/) {
    const std::string state = call.request_state();
    if (!state.empty() && !host.is_sealed(state, "confirm"))
      return Problem{kInvalidParams, "requestState is not what was given out"};
    if (state.empty() || !elicited(call, "confirm"))
      return ask_back({{"confirm", elicitation("Please confirm", "ok", "boolean")}},
                      host.seal("confirm"));
    return text("state-ok");
  }
  static Reply ask_all(FixtureHost& host, Call& call, const Json& /*arguments*/) {
    const bool has_all = elicited(call, "user_name") && response_of(call, "greeting") &&
                         response_of(call, "client_roots");
    if (!has_all || !host.is_sealed(call.request_state(), "all"))
      return ask_back({{"user_name", elicitation("What is your name?", "name", "string")},
                       {"greeting", sampling("Generate a greeting", 50)},
                       {"client_roots", roots()}},
                      host.seal("all"));
    return text("All three came.");
  }
  static Reply ask_twice(FixtureHost& host, Call& call, const Json& /*arguments*/) {
    if (host.is_sealed(call.request_state(), "second") && elicited(call, "step2"))
      return text("Both steps are done.");
    if (host.is_sealed(call.request_state(), "first") && elicited(call, "step1"))
      return ask_back(
          {{"step2", elicitation("Step 2: What is your favorite color?", "color", "string")}},
          host.seal("second"));
    return ask_back({{"step1", elicitation("Step 1: What is your name?", "name", "string")}},
                    host.seal("first"));
  }
  static Reply ask_what_it_can(FixtureHost& /*host*/, Call& call, const Json& /*arguments*/) {
    Json requests = Json::object();
    if (call.client().can("sampling")) requests["question"] = sampling("Say hello", 20);
    if (call.client().can("elicitation"))
      requests["name"] = elicitation("What is your name?", "name", "string");
    if (requests.empty() || !call.input_responses().empty()) return text("Nothing to ask.");
    return ask_back(requests);
  }
  static Reply ask_in_stream(FixtureHost& /*host*/, Call& call, const Json& /*arguments*/) {
    call.report(1, 2, "about to ask");
    if (elicited(call, "detail")) return text("Thank you.");
    return ask_back({{"detail", elicitation("Any detail?", "detail", "string")}});
  }

  // Answers that are always the same.
  static std::vector<Entry> fixed() {
    return {
        {"test_simple_text",
         [](FixtureHost&, Call&, const Json&) {
           return text("This is a simple text response for testing.");
         }},
        {"test_image_content",
         [](FixtureHost&, Call&, const Json&) { return content(Json::array({image_block()})); }},
        {"test_audio_content",
         [](FixtureHost&, Call&, const Json&) {
           return content({{{"type", "audio"}, {"data", kSilence}, {"mimeType", "audio/wav"}}});
         }},
        {"test_embedded_resource",
         [](FixtureHost&, Call&, const Json&) {
           return content(Json::array({resource_block("test://embedded-resource", "text/plain",
                                                      "This is an embedded resource content.")}));
         }},
        {"test_multiple_content_types",
         [](FixtureHost&, Call&, const Json&) {
           return content({text_block("Multiple content types test:"), image_block(),
                           resource_block("test://mixed-content-resource", "application/json",
                                          R"({"test":"data","value":123})")});
         }},
        {"test_error_handling",
         [](FixtureHost&, Call&, const Json&) {
           return error("This tool intentionally returns an error for testing");
         }},
    };
  }
  // Answers that repeat their arguments.
  static std::vector<Entry> echoing() {
    return {{"json_schema_2020_12_tool",
             [](FixtureHost&, Call&, const Json& arguments) { return text(arguments.dump()); },
             schema_2020()},
            {"test_mirrored_parameter",
             [](FixtureHost&, Call&, const Json& arguments) {
               return text(arguments.value("region", "nowhere"));
             },
             Json::parse(R"({"type":"object","properties":{
               "region":{"type":"string","x-mcp-header":"Region"}},"required":["region"]})")}};
  }
  // Longer than the host's patience: for those who can come back, they become tasks.
  static std::vector<Entry> slow() {
    return {{"greet",
             [](FixtureHost&, Call&, const Json& arguments) {
               return text(fmt::format("Hello, {}!", arguments.value("name", "nobody")));
             },
             one_string("name")},
            {"slow_compute",
             [](FixtureHost&, Call& call, const Json& arguments) {
               rest(call, arguments.value("seconds", 0) * 1000);
               return text("computed");
             },
             Json::parse(R"({"type":"object","properties":{
               "seconds":{"type":"integer"},"label":{"type":"string"}}})")},
            {"failing_job",
             [](FixtureHost&, Call& call, const Json&) {
               rest(call, 1000);
               return error("it failed, as it should");
             }},
            {"protocol_error_job", [](FixtureHost&, Call& call, const Json&) -> Reply {
               rest(call, 1000);
               return Problem{kInternalError, "it broke, as it should"};
             }}};
  }
  static void rest(Call& call, int milliseconds) {
    pollfd cancelled{call.interrupt(), POLLIN, 0};
    (void)::poll(&cancelled, 1, milliseconds);  // cancelled or not, the time is over
  }
  static std::vector<Entry> all() {
    std::vector<Entry> entries = fixed();
    for (Entry& entry : echoing())
      entries.push_back(std::move(entry));
    for (Entry& entry : slow())
      entries.push_back(std::move(entry));
    for (const Entry& entry : std::vector<Entry>{
             {"test_tool_with_progress", progress},
             {"test_tool_with_logging", logging},
             {"test_logging_tool", logging},
             {"test_sampling", sample, one_string("prompt")},
             {"test_elicitation", elicit, one_string("message")},
             {"test_elicitation_sep1034_defaults", defaults},
             {"test_elicitation_sep1330_enums", enums},
             {"test_missing_capability", missing_capability},
             {"test_streaming_elicitation", ask_in_stream},
             {"test_trigger_tool_change", change_tools},
             {"test_trigger_prompt_change", change_prompts},
             {"test_input_required_result_elicitation", ask_name},
             {"test_input_required_result_sampling", ask_model},
             {"test_input_required_result_list_roots", ask_roots},
             {"test_input_required_result_request_state", keep_state},
             {"test_input_required_result_multiple_inputs", ask_all},
             {"test_input_required_result_multi_round", ask_twice},
             {"test_input_required_result_tampered_state", keep_state},
             {"test_input_required_result_capabilities", ask_what_it_can},
         })
      entries.push_back(entry);
    return entries;
  }
};

std::string fixture_tool_listing() {
  Json tools = Json::array();
  for (const auto& entry : FixtureTools::all())
    tools.push_back({{"name", entry.name},
                     {"description", "Fixture " + entry.name},
                     {"inputSchema", entry.schema}});
  return Json{{"tools", tools}}.dump();
}

Reply FixtureHost::call_tool(Call& call, const std::string& name, const Json& arguments) {
  for (const auto& entry : FixtureTools::all())
    if (entry.name == name) return entry.run(*this, call, arguments);
  return Problem{kInvalidParams, "Unknown tool: " + name};
}

}  // namespace nutshell::mcp
