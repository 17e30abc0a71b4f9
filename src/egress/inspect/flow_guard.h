// The decisions that inspection leaves to the relay: whether a request may leave, and where its
// connection leads. One object serves one connection of a sandbox, and is used by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace nutshell::egress {

// A request as rules see it.
struct HttpRequestHead {
  std::string method;
  std::string scheme;  // "http" or "https"
  std::string host;    // lower case, without the final dot; an address without brackets
  std::string path;    // as sent, without the query; no segment of it leads upwards
  std::uint16_t port = 0;
};

class FlowGuard {
 public:
  virtual ~FlowGuard() = default;

  // Resolves the name, checks where it leads, and connects.
  virtual Result<UniqueFd> connect(const std::string& host, std::uint16_t port) = 0;
  // Asked for every request; nullopt if it is allowed, else why it is not.
  virtual std::optional<std::string> refusal(const HttpRequestHead& head) = 0;

  // Takes bytes, in either direction, from the sandbox's allowance. May wait, to keep a rate. An
  // error ends the connection.
  virtual Result<> carry(std::size_t /*bytes*/) { return {}; }
  // A request was refused for a reason that is not in the rules: it is malformed, or names another
  // host than its connection.
  virtual void refused(const HttpRequestHead& /*head*/, const std::string& /*why*/) {}
  // A fact for the record, without a refusal. Never contains a secret.
  virtual void noted(const HttpRequestHead& /*head*/, const std::string& /*what*/) {}
};

}  // namespace nutshell::egress
