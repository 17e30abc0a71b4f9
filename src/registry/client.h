// Reads from a registry (OCI distribution, Docker Registry HTTP API v2): manifests and blobs, with
// the account of a user where the registry wants one. All that comes is hostile; the caller checks
// digests. Not thread-safe.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "base/deadline.h"
#include "http/client.h"
#include "registry/credential_program.h"
#include "registry/reference.h"

namespace nutshell::registry {

// An address that a registry names; only https, except that a registry of this machine without TLS
// may name another such address.
struct Address {
  bool is_plain = false;
  std::string host;
  std::uint16_t port = 443;
  std::string target = "/";
};
// `base` is completed by a `location` that has no host of its own.
Result<Address> parse_address(std::string_view location, const Address& base);

// The challenge of a 401: scheme, realm, service and scope.
struct Challenge {
  bool is_basic = false;
  std::string realm;
  std::string service;
  std::string scope;
};
Result<Challenge> parse_challenge(std::string_view header);

// How long a registry is waited for.
struct Patience {
  std::chrono::milliseconds silence{60'000};   // until it answers, or goes on sending
  std::uint64_t bytes_per_second = 8U << 10U;  // on average, after twice that time
};

class RegistryClient {
 public:
  RegistryClient(Reference reference, RegistryAccount account, Patience patience = {})
      : reference_(std::move(reference)), account_(std::move(account)), patience_(patience) {}

  // `version` is a tag or a digest.
  Result<std::string> manifest(const std::string& version);
  // Gives the bytes of a blob piece by piece; fails if they are not exactly `size`.
  using Sink = std::function<Result<>(std::string_view bytes)>;
  Result<> blob(const std::string& digest, std::uint64_t size, const Sink& sink);

 private:
  struct Answer {
    std::unique_ptr<http::Client> client;
    http::ResponseHead head;
  };
  // When a body of at most this size must have come.
  [[nodiscard]] Deadline end_of(std::uint64_t bytes) const;
  // Returns a piece of the body; empty at its end.
  Result<std::string> read_piece(http::Client& client, const Deadline& end) const;
  // Follows redirects and answers challenges; fails unless the answer is 200.
  Result<Answer> get(const std::string& target, const std::string& accept);
  Result<Answer> ask(const Address& address, const std::string& accept);
  Result<> authorize(const http::ResponseHead& head);
  Result<std::string> token_for(const Challenge& challenge);
  Result<http::Client::Response> ask_for_token(const Challenge& challenge);
  [[nodiscard]] Failure refused(const http::ResponseHead& head) const;
  [[nodiscard]] bool is_registry(const Address& address) const;

  Reference reference_;
  RegistryAccount account_;
  Patience patience_;
  std::string authorization_;  // empty until the registry asks
};

}  // namespace nutshell::registry
