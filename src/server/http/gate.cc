#include "server/http/gate.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/sha256.h"

namespace nutshell::server {
namespace {

constexpr std::size_t kMostAddresses = 10'000;

bool contains(const std::vector<std::string>& words, std::string_view word) {
  return std::any_of(words.begin(), words.end(),
                     [&](const std::string& one) { return http::equal_in_any_case(one, word); });
}

// Refuses other host names: a name server of an attacker can point any name at this machine.
bool is_our_host(const GateRules& rules, std::string_view host) {
  const std::string name = host_of(host);
  in6_addr space{};
  const bool is_address = ::inet_pton(AF_INET, name.c_str(), &space) == 1 ||
                          ::inet_pton(AF_INET6, name.c_str(), &space) == 1;
  return is_address || http::equal_in_any_case(name, "localhost") || contains(rules.hosts, name);
}

// The token of an Authorization header; empty if it is not a bearer token.
std::string_view bearer_of(std::string_view value) {
  constexpr std::string_view kScheme = "Bearer ";
  if (value.size() <= kScheme.size()) return {};
  if (!http::equal_in_any_case(value.substr(0, kScheme.size()), kScheme)) return {};
  return value.substr(kScheme.size());
}

const Token* find_token(const GateRules& rules, std::string_view given) {
  const std::string hash = sha256_hex(given);
  const Token* found = nullptr;
  for (const Token& token : rules.tokens) {  // always all of them: the time must reveal nothing
    if (equal_in_constant_time(token.sha256, hash)) found = &token;
  }
  return found;
}

bool is_port(std::string_view text) {
  return !text.empty() && text.size() <= 5 &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::optional<service::Caller> local_caller(const GateRules& rules, const http::Remote& remote) {
  if (!remote.process) return std::nullopt;
  const auto& process = *remote.process;
  if (process.user != rules.user && process.user != 0) return std::nullopt;
  return service::Caller{rules.local_tenant,
                         fmt::format("uid {} pid {}", process.user, process.process),
                         service::HostFiles::Allowed};
}

// The caller that a token, a certificate or the socket proves; nullopt if none does.
std::optional<service::Caller> caller_of(const GateRules& rules, const http::Remote& remote,
                                         const std::string* authorization) {
  if (authorization != nullptr) {
    const Token* token = find_token(rules, bearer_of(*authorization));
    if (token == nullptr) return std::nullopt;
    return service::Caller{token->tenant, "token " + token->name, service::HostFiles::Denied};
  }
  const auto tenant = rules.certificates.find(remote.certificate_name);
  if (!remote.certificate_name.empty() && tenant != rules.certificates.end()) {
    if (remote.has_expired()) return std::nullopt;
    return service::Caller{tenant->second, "certificate " + remote.certificate_name,
                           service::HostFiles::Denied};
  }
  return local_caller(rules, remote);
}

// Pages that this machine serves. What a page may do depends on its token all the same.
bool is_of_this_machine(std::string_view origin) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!origin.starts_with(scheme)) continue;
    const std::string host = host_of(origin.substr(scheme.size()));
    return host == "localhost" || host == "127.0.0.1" || host == "::1";
  }
  return false;
}

}  // namespace

std::string host_of(std::string_view header) {
  if (header.starts_with('[')) {
    const std::size_t end = header.find(']');
    if (end == std::string_view::npos) return {};
    const std::string_view rest = header.substr(end + 1);
    const bool is_whole = rest.empty() || (rest.starts_with(':') && is_port(rest.substr(1)));
    const std::string address(header.substr(1, end - 1));
    in6_addr space{};
    const bool is_address = ::inet_pton(AF_INET6, address.c_str(), &space) == 1;
    return is_whole && is_address ? address : std::string();
  }
  const std::size_t colon = header.find(':');
  if (colon == std::string_view::npos) return std::string(header);
  return is_port(header.substr(colon + 1)) ? std::string(header.substr(0, colon)) : std::string();
}

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
  ++generation_;
}

bool Gate::count_failure(const std::string& address) {
  return failures_.with([&](auto& failures) {
    if (failures.size() >= kMostAddresses) failures.clear();  // bounds the memory
    Failures& ours = failures[address];
    const auto now = Clock::now();
    if (ours.count == 0 || now - ours.begin > kFailureTime) ours = {now, 0};
    return ++ours.count <= kMostFailures;
  });
}

Result<service::Caller> Gate::admit(const http::Exchange& exchange) {
  const auto rules = rules_.with([](const auto& ours) { return ours; });
  const std::string* origin = exchange.headers().find("Origin");
  if (origin != nullptr && !contains(rules->origins, *origin) && !is_of_this_machine(*origin)) {
    return failure(ErrorCode::PermissionDenied, "web pages of this origin may not call");
  }
  if (!exchange.remote().process && !is_our_host(*rules, exchange.headers().get("Host"))) {
    return failure(ErrorCode::PermissionDenied,
                   "this host name is not in the list of allowed hosts");
  }
  return admit(exchange.remote(), exchange.headers().find("Authorization"));
}

Result<service::Caller> Gate::admit(const http::Remote& remote, const std::string* authorization) {
  const auto rules = rules_.with([](const auto& ours) { return ours; });
  if (auto caller = caller_of(*rules, remote, authorization)) return std::move(*caller);
  if (authorization != nullptr && !count_failure(http::source_of(remote))) {
    return failure(ErrorCode::ResourceExhausted, "too many wrong tokens; wait a minute");
  }
  return failure(ErrorCode::Unauthenticated,
                 fmt::format("{} token: send 'Authorization: Bearer TOKEN'; the command line takes "
                             "it from the variable NUTSHELL_TOKEN",
                             authorization != nullptr ? "no valid" : "no"));
}

http::Admission Gate::admission_of(const http::RequestHead& head,
                                   const http::Remote& remote) const {
  return admission_of(remote, head.headers.find("Authorization"));
}

http::Admission Gate::admission_of(const http::Remote& remote,
                                   const std::string* authorization) const {
  const auto rules = rules_.with([](const auto& ours) { return ours; });
  const auto caller = caller_of(*rules, remote, authorization);
  if (!caller) return {http::CallerKind::Stranger, "stranger", ""};
  // A token of the owner's tenant has a share of its own.
  if (caller->host_files == service::HostFiles::Allowed) {
    return {http::CallerKind::Owner, "owner", caller->who};
  }
  return {http::CallerKind::Tenant, "tenant " + caller->tenant, caller->who};
}

}  // namespace nutshell::server
