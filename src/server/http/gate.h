// Admits clients: turns a token, a certificate or the user of a Unix socket into a caller of the
// service. Thread-safe.
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

// Only the hash of a token is stored, so that the file is of no use to a reader.
struct Token {
  std::string name;    // for the record
  std::string tenant;  // the tenant it belongs to
  std::string sha256;  // 64 hexadecimal digits
};

struct GateRules {
  std::vector<Token> tokens;
  std::map<std::string, std::string> certificates;  // name in the client's certificate → tenant
  std::vector<std::string> hosts;                   // names besides localhost that are ours
  std::vector<std::string> origins;                 // pages that may call us
  std::string local_tenant = "local";
  std::uint32_t user = 0;  // its processes, and root's, may use the Unix socket without a token
};

class Gate {
 public:
  explicit Gate(GateRules rules) { replace(std::move(rules)); }

  // So many wrong tokens from one address are recorded one by one within kFailureTime; later ones
  // are refused without a record. A valid token always passes: others may share its address.
  static constexpr std::size_t kMostFailures = 10;
  static constexpr auto kFailureTime = std::chrono::seconds(60);

  // A refusal says as little as it can: Unauthenticated without a valid token, PermissionDenied for
  // a page or a host name that is not ours, ResourceExhausted after too many wrong tokens.
  Result<service::Caller> admit(const http::Exchange& exchange);
  // For a request that no web page can have sent. `authorization` is the header's value; nullptr if
  // there is none.
  Result<service::Caller> admit(const http::Remote& remote, const std::string* authorization);

  // Decides by the head alone which client a request is counted for. Counts no failures.
  http::Admission admission_of(const http::RequestHead& head, const http::Remote& remote) const;
  http::Admission admission_of(const http::Remote& remote, const std::string* authorization) const;

  void replace(GateRules rules);
  // Changes with each replace().
  [[nodiscard]] std::uint64_t generation() const { return generation_; }

 private:
  struct Failures {
    Clock::time_point begin;
    std::size_t count = 0;
  };
  // Counts a wrong token; false if this address has sent too many.
  bool count_failure(const std::string& address);

  // Shared: a request keeps the rules it began with while a reload replaces them.
  Guarded<std::shared_ptr<const GateRules>> rules_;
  std::atomic<std::uint64_t> generation_{0};
  Guarded<std::map<std::string, Failures>> failures_;
};

// The host of a Host header without port and brackets; empty if it is malformed.
std::string host_of(std::string_view header);

// Takes the same time wherever the texts differ.
bool equal_in_constant_time(std::string_view a, std::string_view b);

}  // namespace nutshell::server
