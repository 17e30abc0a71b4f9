// Parses JSON-RPC messages from a client, which may be hostile.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "server/mcp/json_text.h"

namespace nutshell::mcp {

// Error codes of JSON-RPC and of MCP.
inline constexpr int kParseError = -32700;
inline constexpr int kInvalidRequest = -32600;
inline constexpr int kMethodNotFound = -32601;
inline constexpr int kInvalidParams = -32602;
inline constexpr int kInternalError = -32603;
inline constexpr int kResourceNotFound = -32002;  // in revisions with a handshake
inline constexpr int kHeaderMismatch = -32020;
inline constexpr int kMissingCapability = -32021;
inline constexpr int kUnsupportedVersion = -32022;

struct Problem {
  int code = kInternalError;
  std::string message;
  std::string data = {};  // JSON, or empty
};

// Takes the code from the table of error codes (base/error_code.h); `data` has its word.
Problem problem_of(const Error& error);

struct Message {
  enum class Kind : std::uint8_t { Request, Notification, Response, Refused };

  Message();
  Message(Message&&) noexcept;
  Message& operator=(Message&&) noexcept;
  ~Message();

  Kind kind = Kind::Refused;
  std::string id = "null";  // as JSON
  std::string method;
  std::unique_ptr<Json> body;  // params; the whole message if Response; nullptr if Refused
  Problem problem;             // if Refused

  [[nodiscard]] const Json& params() const { return *body; }
  // A member of params that is a string; else empty.
  [[nodiscard]] std::string text(const char* name) const;
  // A member of params that is an object; else an empty one.
  [[nodiscard]] const Json& object(const char* name) const;
};

struct MessageBatch {
  bool is_batch = false;
  std::vector<Message> messages;
};

inline constexpr std::size_t kMostBatched = 64;

// Never fails: a text that cannot be parsed is one message that is Refused, with the answer to
// send.
MessageBatch read_messages(std::string_view text);

std::string result_message(std::string_view id, std::string_view result);
std::string error_message(std::string_view id, const Problem& problem);
// `params` is the text of an object, or empty.
std::string notification(std::string_view method, std::string_view params);
std::string request_message(std::string_view id, std::string_view method, std::string_view params);

}  // namespace nutshell::mcp
