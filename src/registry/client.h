// Reads from a registry (OCI distribution, Docker Registry HTTP API v2): manifests and blobs, with
// the account of a user where the registry wants one. All that comes is hostile; the caller checks
// digests. Not thread-safe.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "http/client.h"
#include "registry/credential_program.h"
#include "registry/reference.h"

namespace nutshell::registry {

// An address that a registry names; only https, except on this machine.
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

class RegistryClient {
 public:
  RegistryClient(Reference reference, RegistryAccount account)
      : reference_(std::move(reference)), account_(std::move(account)) {}

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
  std::string authorization_;  // empty until the registry asks
};

}  // namespace nutshell::registry
