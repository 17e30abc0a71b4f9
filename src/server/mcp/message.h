// One JSON-RPC message as it came from a client: hostile until it is read.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "server/mcp/json_text.h"

namespace nutshell::mcp {

// JSON-RPC's own, and those of the protocol.
inline constexpr int kParseError = -32700;
inline constexpr int kInvalidRequest = -32600;
inline constexpr int kMethodNotFound = -32601;
inline constexpr int kInvalidParams = -32602;
inline constexpr int kInternalError = -32603;
inline constexpr int kResourceNotFound = -32002;  // of the revisions with a handshake
inline constexpr int kHeaderMismatch = -32020;
inline constexpr int kMissingCapability = -32021;
inline constexpr int kUnsupportedVersion = -32022;

struct Problem {
  int code = kInternalError;
  std::string message;
  std::string data = {};  // JSON, or empty
};

// By the table of error codes; `data` has the code's word.
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
  std::unique_ptr<Json> body;  // params; of a Response the whole message; of Refused nothing
  Problem problem;             // of Refused

  [[nodiscard]] const Json& params() const { return *body; }
  // A member of params that is a string; else empty.
  [[nodiscard]] std::string text(const char* name) const;
  // The text of a member of params, which is an object; "{}" if it is not there.
  [[nodiscard]] std::string object(const char* name) const;
};

struct Parcel {
  bool is_batch = false;
  std::vector<Message> messages;
};

inline constexpr std::size_t kMostBatched = 64;

// Always something: what cannot be read is a message that is Refused, with the answer to give.
Parcel read_parcel(std::string_view text);

std::string result_message(std::string_view id, std::string_view result);
std::string error_message(std::string_view id, const Problem& problem);
// `params` is the text of an object, or empty.
std::string notification(std::string_view method, std::string_view params);
std::string request_message(std::string_view id, std::string_view method, std::string_view params);

}  // namespace nutshell::mcp
