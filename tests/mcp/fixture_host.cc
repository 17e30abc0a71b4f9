#include "fixture_host.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/random_id.h"
#include "base/sha256.h"
#include "fixture_tools.h"

namespace nutshell::mcp {
namespace {

constexpr const char* kPixel =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg"
    "==";

constexpr const char* kPrompts = R"({"prompts":[
{"name":"test_simple_prompt","description":"A prompt without arguments"},
{"name":"test_prompt_with_arguments","description":"A prompt with two arguments","arguments":[
 {"name":"arg1","description":"First","required":true},
 {"name":"arg2","description":"Second","required":true}]},
{"name":"test_prompt_with_embedded_resource","description":"A prompt that holds a resource",
 "arguments":[{"name":"resourceUri","description":"Which","required":true}]},
{"name":"test_prompt_with_image","description":"A prompt that holds an image"},
{"name":"test_input_required_result_prompt","description":"A prompt that asks back"}]})";

constexpr const char* kResources = R"({"resources":[
{"uri":"test://static-text","name":"static-text","description":"Some text","mimeType":"text/plain"},
{"uri":"test://static-binary","name":"static-binary","description":"A pixel","mimeType":"image/png"},
{"uri":"test://watched-resource","name":"watched","description":"May change","mimeType":"text/plain"}]})";

constexpr const char* kTemplates = R"({"resourceTemplates":[
{"uriTemplate":"test://template/{id}/data","name":"template","description":"Data by id",
 "mimeType":"application/json"}]})";

// One message to a line is what stdio wants of any text.
std::string on_one_line(const char* text) {
  return Json::parse(text).dump();
}

std::string message(const Json& content) {
  return Json{{"role", "user"}, {"content", content}}.dump();
}

Reply prompt(const std::string& messages) {
  return Answer{fmt::format(R"({{"messages":[{}]}})", messages)};
}

Reply contents(const std::string& uri, const Json& more) {
  Json entry = more;
  entry["uri"] = uri;
  return Answer{Json{{"contents", {entry}}}.dump()};
}

}  // namespace

FixtureHost::FixtureHost() : key_(random_id(64)) {}

Description FixtureHost::describe() const {
  return {"mcp-fixture",
          "Conformance fixture",
          "1.0.0",
          "Fixed answers for the conformance suite.",
          {.prompts = true,
           .resources = true,
           .completion = true,
           .logging = true,
           .lists_change = true,
           .resources_change = true,
           .task_patience = std::chrono::milliseconds(300)}};
}

std::string FixtureHost::list(Listing listing, const Client& /*client*/) {
  switch (listing) {
    case Listing::Tools:
      return fixture_tool_listing();
    case Listing::Prompts:
      return on_one_line(kPrompts);
    case Listing::Resources:
      return on_one_line(kResources);
    case Listing::ResourceTemplates:
      return on_one_line(kTemplates);
  }
  return "{}";
}

std::vector<MirroredParameter> FixtureHost::mirrored(const std::string& tool) const {
  if (tool != "test_mirrored_parameter") return {};
  return {{"region", "Region"}};
}

std::string FixtureHost::seal(const std::string& state) const {
  return fmt::format("{}.{}", state, sha256_hex(key_ + sha256_hex(key_ + state)));
}

bool FixtureHost::is_sealed(const std::string& sealed, const std::string& state) const {
  return sealed == seal(state);
}

Reply FixtureHost::read_resource(Call& /*call*/, const std::string& uri) {
  if (uri == "test://static-text" || uri == "test://watched-resource")
    return contents(uri, {{"mimeType", "text/plain"},
                          {"text", "This is the content of the static text resource."}});
  if (uri == "test://static-binary")
    return contents(uri, {{"mimeType", "image/png"}, {"blob", kPixel}});
  constexpr std::string_view kBegin = "test://template/";
  constexpr std::string_view kEnd = "/data";
  if (uri.starts_with(kBegin) && uri.ends_with(kEnd) && uri.size() > kBegin.size() + kEnd.size()) {
    const std::string id = uri.substr(kBegin.size(), uri.size() - kBegin.size() - kEnd.size());
    const Json data = {{"id", id}, {"templateTest", true}, {"data", "Data for ID: " + id}};
    return contents(uri, {{"mimeType", "application/json"}, {"text", data.dump()}});
  }
  return Problem{kResourceNotFound, "Resource not found", Json{{"uri", uri}}.dump()};
}

Reply FixtureHost::complete(Call& /*call*/, const Json& params) {
  Json values = Json::array();
  for (const char* word : {"paris", "park", "party"})
    if (std::string(word).starts_with(params["argument"].value("value", "")))
      values.push_back(word);
  return Answer{Json{{"completion", {{"values", values}, {"hasMore", false}}}}.dump()};
}

Reply FixtureHost::get_prompt(Call& call, const std::string& name, const Json& given) {
  const auto text = [](const std::string& words) {
    return Json{{"type", "text"}, {"text", words}};
  };
  if (name == "test_simple_prompt")
    return prompt(message(text("This is a simple prompt for testing.")));
  if (name == "test_prompt_with_arguments") {
    return prompt(message(text(fmt::format("Prompt with arguments: arg1='{}', arg2='{}'",
                                           given.value("arg1", ""), given.value("arg2", "")))));
  }
  if (name == "test_prompt_with_embedded_resource") {
    const Json resource = {{"uri", given.value("resourceUri", "test://example-resource")},
                           {"mimeType", "text/plain"},
                           {"text", "Embedded resource content for testing."}};
    return prompt(message({{"type", "resource"}, {"resource", resource}}) + "," +
                  message(text("Please process the embedded resource above.")));
  }
  if (name == "test_prompt_with_image") {
    return prompt(message({{"type", "image"}, {"data", kPixel}, {"mimeType", "image/png"}}) + "," +
                  message(text("Please analyze the image above.")));
  }
  if (name == "test_input_required_result_prompt") {
    const auto context = elicited(call, "user_context");
    if (!context)
      return ask_back({{"user_context",
                        elicitation("What context should the prompt use?", "context", "string")}});
    return prompt(message(text("Context: " + context->dump())));
  }
  return Problem{kInvalidParams, "Unknown prompt: " + name};
}

}  // namespace nutshell::mcp
