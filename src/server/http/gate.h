// Who may come in: turns what is proved about a client into the caller that the service knows.
// Thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/guarded.h"
#include "base/result.h"
#include "http/admission.h"
#include "http/exchange.h"
#include "service/model/caller.h"

namespace nutshell::server {

// Kept as the hash of the token alone: who reads the file cannot use it.
struct Token {
  std::string name;    // for the record
  std::string tenant;  // whose sandboxes it opens
  std::string sha256;  // 64 hexadecimal digits
};

struct GateRules {
  std::vector<Token> tokens;
  std::map<std::string, std::string> certificates;  // name in the client's certificate → tenant
  std::vector<std::string> hosts;                   // names besides localhost that are ours
  std::vector<std::string> origins;                 // pages that may call us
  std::string local_tenant = "local";
  std::uint32_t user = 0;  // whose processes may use the Unix socket without a token, besides root
};

class Gate {
 public:
  explicit Gate(GateRules rules) { replace(std::move(rules)); }

  // How many wrong tokens of one address are answered and recorded one by one within kFailureTime;
  // later ones are refused in short. A right token always passes: others may share its address.
  static constexpr std::size_t kMostFailures = 10;
  static constexpr auto kFailureTime = std::chrono::seconds(60);

  // A refusal says as little as it can: Unauthenticated without a valid token, PermissionDenied for
  // a page or a host name that is not ours, ResourceExhausted after too many wrong tokens.
  Result<service::Caller> admit(const http::Exchange& exchange);
  // For a request that no web page can have sent. `authorization` is the header's value; nullptr if
  // there is none.
  Result<service::Caller> admit(const http::Remote& remote, const std::string* authorization);

  // Whom a request counts against, by its head alone. Counts no failures.
  http::Admission standing_of(const http::RequestHead& head, const http::Remote& remote) const;
  http::Admission standing_of(const http::Remote& remote, const std::string* authorization) const;

  void replace(GateRules rules);
  // Changes with each replace().
  [[nodiscard]] std::uint64_t generation() const { return generation_; }

 private:
  struct Failures {
    Clock::time_point begin;
    std::size_t count = 0;
  };
  // Counts a wrong token. False: this address has sent too many of them.
  bool count_failure(const std::string& address);

  // Shared: a request goes on with the rules it began with while a reload brings new ones.
  Guarded<std::shared_ptr<const GateRules>> rules_;
  std::atomic<std::uint64_t> generation_{0};
  Guarded<std::map<std::string, Failures>> failures_;
};

// The host of a Host header without its port and brackets; empty: this is no host.
std::string host_of(std::string_view header);

// Compares all of both, wherever they differ first.
bool equal_in_constant_time(std::string_view a, std::string_view b);

}  // namespace nutshell::server
