#include "egress/judge.h"

#include <fmt/format.h>

#include <algorithm>

#include "egress/cache/registries.h"
#include "egress/host_name.h"

namespace nutshell::egress {
namespace {

using Grant = RuleList::Grant;

std::string narrowest_rule(const std::string& host, std::uint16_t port) {
  return host_and_port(host, port);
}

Content refused(std::string reason) {
  return {.way = Content::Way::Refused, .name = {}, .reason = std::move(reason)};
}

}  // namespace

bool is_default_port(std::uint16_t port) {
  return port == 80 || port == 443;
}

const Address& stand_in_address() {
  static const Address kAddress = Address::parse("198.18.0.1").value_or(Address());
  return kAddress;
}

std::string host_and_port(const std::string& host, std::uint16_t port) {
  const bool is_six = host.find(':') != std::string::npos;
  return is_six ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

Result<Judge> Judge::create(const NetworkPolicy& policy) {
  NetworkPolicy whole = policy;
  whole.mode = mode_of(policy);
  RuleList rules = TRY(RuleList::parse(policy.allow));
  if (rules.needs_inspection() && policy.tls != TlsMode::Inspect) {
    return failure(ErrorCode::InvalidArgument,
                   "a rule on requests over https needs inspection of TLS, because the host cannot "
                   "read them otherwise: add --inspect, or name the host alone");
  }
  return Judge(std::move(whole), std::move(rules));
}

std::string Judge::allowed_text() const {
  const std::string summary = rules_.summary();
  return summary.empty() ? "; nothing is allowed" : "; allowed are " + summary;
}

bool Judge::may_look_up(const std::string& name) const {
  return is_full() || rules_.names(name);
}

std::string Judge::why_no_look_up(const std::string& name) const {
  return fmt::format("{} is not allowed{}", name, allowed_text());
}

bool Judge::may_lead_to(const Address& address) const {
  const auto kind = special_kind(address);
  if (kind.empty() || rules_.has_address(address)) return true;
  return is_full() && kind != "loopback";
}

std::string Judge::why_not_lead_to(const std::string& name, const Address& address) const {
  return fmt::format(
      "{} leads to {}, a {} address, which a name may not lead to unless a rule has the address",
      name, address.text(), special_kind(address));
}

Judgement Judge::judge(const Address& address, std::uint16_t port,
                       const std::vector<std::string>& names) const {
  const bool is_loopback = special_kind(address) == "loopback";
  Judgement answer;
  answer.host = names.empty() ? address.text() : names.front();
  if (rules_.allows_address(address, port) || (is_full() && !is_loopback)) {
    answer.way = Judgement::Way::Free;
    answer.rule = is_full() ? "unsafe-full" : narrowest_rule(address.text(), port);
    return answer;
  }
  if (is_loopback) {
    answer.way = Judgement::Way::Silent;
    answer.reason = "nobody listens there in the sandbox";
    return answer;
  }
  const bool is_stand_in = address == stand_in_address() && is_default_port(port);
  const bool is_usual = special_kind(address).empty();
  for (const std::string& name : names) {
    const bool leads_there = is_usual || (is_stand_in && keeps_downloads_of(name));
    const Grant grant = leads_there ? rules_.grant_of(name, port) : Grant::None;
    if (grant == Grant::None) continue;
    answer.names.push_back(name);
    answer.grant = std::max(answer.grant, grant);
  }
  if (!answer.names.empty()) {
    answer.way = Judgement::Way::ByNames;
    answer.host = answer.names.front();
    answer.rule = narrowest_rule(answer.host, port);
    return answer;
  }
  answer.rule = narrowest_rule(answer.host, port);
  answer.reason = fmt::format("{} is not allowed{}", answer.rule, allowed_text());
  return answer;
}

Judgement Judge::judge_name(const std::string& name, std::uint16_t port) const {
  Judgement answer;
  answer.host = name;
  answer.rule = narrowest_rule(name, port);
  answer.names = {name};
  answer.grant = rules_.grant_of(name, port);
  if (is_full()) {
    answer.way = Judgement::Way::Free;
  } else if (answer.grant != Grant::None) {
    answer.way = Judgement::Way::ByNames;
  } else {
    answer.reason = fmt::format("{} is not allowed{}", answer.rule, allowed_text());
  }
  return answer;
}

Content Judge::judge_content(const FirstBytes& bytes, const Judgement& connection,
                             std::uint16_t port) const {
  const std::string place = host_and_port(connection.host, port);
  switch (bytes.kind) {
    case FirstBytes::Kind::Incomplete:
      return {};
    case FirstBytes::Kind::Malformed:
      return refused(
          fmt::format("{}: the connection begins as TLS or HTTP, but not with a message "
                      "that names one server",
                      place));
    case FirstBytes::Kind::Other:
      if (connection.grant == Grant::Any)
        return {.way = Content::Way::Plain, .name = {}, .reason = {}};
      return refused(
          fmt::format("{}: only TLS and HTTP are allowed there. For another protocol a "
                      "rule has to name a port other than 80 and 443",
                      place));
    case FirstBytes::Kind::Tls:
    case FirstBytes::Kind::Http:
      break;
  }
  const bool is_tls = bytes.kind == FirstBytes::Kind::Tls;
  if (bytes.has_encrypted_name) {
    return refused(
        fmt::format("{}: the client encrypts the server's name (ECH), so no rule can be "
                    "checked; switch that off",
                    place));
  }
  if (bytes.name.empty()) {
    return refused(
        fmt::format("{}: the client does not say which server it means; rules for names "
                    "need that",
                    place));
  }
  const auto name = canonical_name(bytes.name);
  const auto& names = connection.names;
  if (!name || std::find(names.begin(), names.end(), *name) == names.end()) {
    return refused(
        fmt::format("{}: the client asks that server for {:.100}, which is not allowed "
                    "or did not lead there",
                    place, bytes.name));
  }
  if (is_tls && !is_inspecting() && rules_.grant_of(*name, port) < Grant::Web) {
    return refused(
        fmt::format("{}: only some requests over http are allowed there, and TLS hides "
                    "them",
                    place));
  }
  return {.way = is_tls ? Content::Way::Tls : Content::Way::Http, .name = *name, .reason = {}};
}

bool Judge::keeps_downloads_of(const std::string& name) const {
  if (!is_inspecting()) return false;
  return std::any_of(policy_.caches.begin(), policy_.caches.end(), [&](const std::string& cache) {
    const auto hosts = hosts_of_registry(cache);
    return std::find(hosts.begin(), hosts.end(), name) != hosts.end();
  });
}

bool Judge::allows_request(const RequestView& request) const {
  return is_full() || rules_.allows_request(request);
}

}  // namespace nutshell::egress
