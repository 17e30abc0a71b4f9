// The certificate authority of one sandbox. The sandbox trusts it, nothing else does, and its key
// never leaves the host. Thread-safe.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/deadline.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "http/transport.h"

namespace nutshell::egress {

class Authority {
 public:
  // Makes a new key and certificate, valid for a year.
  static Result<Authority> create();
  // Takes what to_pem() gave.
  static Result<Authority> from_pem(std::string_view pem);

  Authority(Authority&&) noexcept;
  Authority& operator=(Authority&&) noexcept;
  ~Authority();

  // For the sandbox's trust stores.
  [[nodiscard]] const std::string& certificate() const;
  // Certificate and key, so that the relay of a kept sandbox can be started again. Secret.
  [[nodiscard]] Result<std::string> to_pem() const;

  // Does the server's part of the handshake on a connection that the sandbox made to `name`, with a
  // certificate for that name. A client that asks for another name is refused, and so is one that
  // speaks only HTTP/2.
  Result<std::unique_ptr<http::Transport>> answer(UniqueFd client, const std::string& name,
                                                  const Deadline& deadline);

 private:
  struct State;
  explicit Authority(std::unique_ptr<State> state);
  static Result<Authority> finish(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace nutshell::egress
