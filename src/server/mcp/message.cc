#include "server/mcp/message.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/json_text.h"

namespace nutshell::mcp {
namespace {

constexpr std::size_t kMostIdBytes = 256;

Message refused(std::string id, int code, std::string message) {
  Message told;
  told.id = std::move(id);
  told.problem = {code, std::move(message)};
  return told;
}

bool is_id(const Json& value) {
  if (value.is_string()) return value.get_ref<const std::string&>().size() <= kMostIdBytes;
  return value.is_number_integer();
}

Message read_call(Json& value, std::string id) {
  const auto method = value.find("method");
  if (!method->is_string())
    return refused(std::move(id), kInvalidRequest, "`method` must be a string");
  Message message;
  message.kind = value.contains("id") ? Message::Kind::Request : Message::Kind::Notification;
  message.method = method->get<std::string>();
  const auto params = value.find("params");
  if (params == value.end()) {
    message.body = std::make_unique<Json>(Json::object());
  } else if (params->is_object()) {
    message.body = std::make_unique<Json>(std::move(*params));
  } else {
    return refused(std::move(id), kInvalidParams, "`params` must be an object");
  }
  message.id = std::move(id);
  return message;
}

Message read_message(Json& value) {
  if (!value.is_object()) return refused("null", kInvalidRequest, "a message is a JSON object");
  const auto given = value.find("id");
  const bool has_id = given != value.end();
  if (has_id && !is_id(*given)) {
    return refused("null", kInvalidRequest, "`id` must be an integer or a string of at most 256");
  }
  std::string id = has_id ? dump_json(*given) : "null";
  const auto version = value.find("jsonrpc");
  if (version == value.end() || *version != "2.0")
    return refused(std::move(id), kInvalidRequest, "`jsonrpc` must be \"2.0\"");
  if (value.contains("method")) return read_call(value, std::move(id));
  const bool is_response = has_id && value.contains("result") != value.contains("error");
  if (!is_response) return refused(std::move(id), kInvalidRequest, "`method` is missing");
  Message message;
  message.kind = Message::Kind::Response;
  message.id = std::move(id);
  message.body = std::make_unique<Json>(std::move(value));
  return message;
}

MessageBatch single(Message message) {
  MessageBatch batch;
  batch.messages.push_back(std::move(message));
  return batch;
}

}  // namespace

Problem problem_of(const Error& error) {
  return {forms_of(error.code).json_rpc_code, error.message,
          fmt::format(R"({{"code":"{}"}})", to_string(error.code))};
}

Message::Message() = default;
Message::Message(Message&&) noexcept = default;
Message& Message::operator=(Message&&) noexcept = default;
Message::~Message() = default;

std::string Message::text(const char* name) const {
  const auto found = body->find(name);
  return found != body->end() && found->is_string() ? found->get<std::string>() : std::string();
}

const Json& Message::object(const char* name) const {
  static const Json kEmpty = Json::object();
  const auto found = body->find(name);
  return found != body->end() && found->is_object() ? *found : kEmpty;
}

MessageBatch read_messages(std::string_view text) {
  auto parsed = parse_strict(text, {.bytes = kMostMessageBytes});
  if (!parsed) {
    return single(refused("null", kParseError, "Parse error: " + parsed.error().message));
  }
  if (!parsed->is_array()) return single(read_message(*parsed));
  if (parsed->empty()) return single(refused("null", kInvalidRequest, "the batch is empty"));
  if (parsed->size() > kMostBatched) {
    return single(refused("null", kInvalidRequest,
                          fmt::format("a batch has at most {} messages", kMostBatched)));
  }
  MessageBatch batch;
  batch.is_batch = true;
  for (Json& value : *parsed)
    batch.messages.push_back(read_message(value));
  return batch;
}

std::string result_message(std::string_view id, std::string_view result) {
  return fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{}}})", id, result);
}

std::string error_message(std::string_view id, const Problem& problem) {
  return fmt::format(R"({{"jsonrpc":"2.0","id":{},"error":{{"code":{},"message":{}{}{}}}}})", id,
                     problem.code, json_string(problem.message),
                     problem.data.empty() ? "" : ",\"data\":", problem.data);
}

std::string notification(std::string_view method, std::string_view params) {
  return fmt::format(R"({{"jsonrpc":"2.0","method":"{}"{}{}}})", method,
                     params.empty() ? "" : ",\"params\":", params);
}

std::string request_message(std::string_view id, std::string_view method, std::string_view params) {
  return fmt::format(R"({{"jsonrpc":"2.0","id":{},"method":"{}","params":{}}})", id, method,
                     params);
}

}  // namespace nutshell::mcp
