#include "server/http/gate.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/sha256.h"

namespace nutshell::server {
namespace {

using Refused = tl::unexpected<Gate::Refusal>;

constexpr std::size_t kMostAddresses = 10'000;

Refused refused(int status, ErrorCode code, std::string why) {
  return Refused(Gate::Refusal{status, {code, std::move(why)}});
}

bool contains(const std::vector<std::string>& words, std::string_view word) {
  return std::any_of(words.begin(), words.end(),
                     [&](const std::string& one) { return http::equal_in_any_case(one, word); });
}

std::string without_port(std::string_view host) {
  if (host.starts_with('[')) return std::string(host.substr(1, host.find(']') - 1));
  return std::string(host.substr(0, host.rfind(':')));
}

// A name that is not ours may have been pointed at us by somebody else's name server.
bool is_our_host(const GateRules& rules, std::string_view host) {
  const std::string name = without_port(host);
  in6_addr space{};
  const bool is_address = ::inet_pton(AF_INET, name.c_str(), &space) == 1 ||
                          ::inet_pton(AF_INET6, name.c_str(), &space) == 1;
  return is_address || http::equal_in_any_case(name, "localhost") || contains(rules.hosts, name);
}

// The token of an Authorization header; empty: it is none of ours.
std::string_view bearer_of(std::string_view value) {
  constexpr std::string_view kScheme = "Bearer ";
  if (value.size() <= kScheme.size()) return {};
  if (!http::equal_in_any_case(value.substr(0, kScheme.size()), kScheme)) return {};
  return value.substr(kScheme.size());
}

const Token* find_token(const GateRules& rules, std::string_view given) {
  const std::string hash = sha256_hex(given);
  const Token* found = nullptr;
  for (const Token& token : rules.tokens) {  // all of them, so that time tells nothing
    if (equal_in_constant_time(token.sha256, hash)) found = &token;
  }
  return found;
}

// Without its port: a client has many.
std::string address_of(const http::Remote& remote) {
  if (remote.process) return fmt::format("uid {}", remote.process->user);
  return without_port(remote.address);
}

std::optional<service::Caller> local_caller(const GateRules& rules, const http::Remote& remote) {
  if (!remote.process) return std::nullopt;
  const auto& process = *remote.process;
  if (process.user != rules.user && process.user != 0) return std::nullopt;
  return service::Caller{rules.local_tenant,
                         fmt::format("uid {} pid {}", process.user, process.process),
                         service::HostFiles::Allowed};
}

}  // namespace

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    difference |=
        static_cast<unsigned char>(a[i]) ^ static_cast<unsigned>(static_cast<unsigned char>(b[i]));
  return difference == 0;
}

void Gate::replace(GateRules rules) {
  auto fresh = std::make_shared<const GateRules>(std::move(rules));
  rules_.with([&](auto& ours) { ours = std::move(fresh); });
}

bool Gate::is_barred(const std::string& address) {
  return failures_.with([&](auto& failures) {
    const auto found = failures.find(address);
    if (found == failures.end()) return false;
    if (Clock::now() - found->second.begin > kFailureTime) {
      failures.erase(found);
      return false;
    }
    return found->second.count >= kMostFailures;
  });
}

void Gate::count_failure(const std::string& address) {
  failures_.with([&](auto& failures) {
    if (failures.size() >= kMostAddresses) failures.clear();  // bounded, whoever has many addresses
    Failures& ours = failures[address];
    if (ours.count == 0) ours.begin = Clock::now();
    ++ours.count;
  });
}

Gate::Admitted Gate::admit(const http::Exchange& exchange) {
  const auto rules = rules_.with([](const auto& ours) { return ours; });
  const std::string* origin = exchange.headers().find("Origin");
  if (origin != nullptr && !contains(rules->origins, *origin)) {
    return refused(403, ErrorCode::PermissionDenied, "pages of this origin may not call");
  }
  if (!exchange.remote().process && !is_our_host(*rules, exchange.headers().get("Host"))) {
    return refused(403, ErrorCode::PermissionDenied, "this host name is not ours");
  }
  return admit(exchange.remote(), exchange.headers().find("Authorization"));
}

Gate::Admitted Gate::admit(const http::Remote& remote, const std::string* authorization) {
  const auto current = rules_.with([](const auto& ours) { return ours; });
  const GateRules& rules = *current;
  const std::string address = address_of(remote);
  if (authorization != nullptr) {
    if (is_barred(address)) {
      return refused(429, ErrorCode::ResourceExhausted, "too many wrong tokens; wait a minute");
    }
    if (const Token* token = find_token(rules, bearer_of(*authorization))) {
      return service::Caller{token->tenant, "token " + token->name, service::HostFiles::Denied};
    }
    count_failure(address);
    return refused(401, ErrorCode::PermissionDenied, "no valid token");
  }
  const auto tenant = rules.certificates.find(remote.certificate_name);
  if (!remote.certificate_name.empty() && tenant != rules.certificates.end()) {
    return service::Caller{tenant->second, "certificate " + remote.certificate_name,
                           service::HostFiles::Denied};
  }
  if (auto local = local_caller(rules, remote)) return std::move(*local);
  return refused(401, ErrorCode::PermissionDenied, "no valid token");
}

}  // namespace nutshell::server
