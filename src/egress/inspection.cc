#include "egress/inspection.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "egress/host_name.h"
#include "egress/inspect/secrets.h"
#include "egress/rules.h"

namespace nutshell::egress {
namespace {

bool is_variable_name(const std::string& name) {
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name.front())) == 0 &&
         std::all_of(name.begin(), name.end(), [](unsigned char letter) {
           return std::isalnum(letter) != 0 || letter == '_';
         });
}

Result<std::shared_ptr<const RuleList>> hosts_of(const NetworkSecret& secret) {
  if (secret.hosts.empty()) {
    return failure(ErrorCode::InvalidArgument,
                   fmt::format("secret {}: name the hosts whose requests get it, as in "
                               "host=api.example.org",
                               secret.name));
  }
  auto rules = RuleList::parse(secret.hosts);
  if (!rules) return while_doing("secret " + secret.name, std::move(rules).error());
  return std::make_shared<const RuleList>(std::move(*rules));
}

Result<Secret> to_secret(const NetworkSecret& secret, std::string placeholder) {
  const auto hosts = TRY(hosts_of(secret));
  const auto applies = [hosts](const std::string& host, std::uint16_t port) {
    const auto name = canonical_name(host);
    return name && hosts->grant_of(*name, port) != RuleList::Grant::None;
  };
  return Secret{secret.name, std::move(placeholder), secret.value,
                applies,     secret.is_in_query,     secret.is_in_body};
}

}  // namespace

Result<> check_secrets(const NetworkPolicy& policy) {
  for (const NetworkSecret& secret : policy.secrets) {
    if (!is_variable_name(secret.name)) {
      return failure(ErrorCode::InvalidArgument,
                     fmt::format("secret '{:.80}' is not the name of a variable", secret.name));
    }
    TRY(check_secret_value(secret.name, secret.value));
    TRY(hosts_of(secret));
  }
  return {};
}

Result<std::unique_ptr<Inspection>> Inspection::create(const NetworkPolicy& policy,
                                                       const std::string& trust_directory) {
  const std::string host = TRY(host_authorities());
  Authority authority = TRY(Authority::create());
  SandboxTrust trust = TRY(trust_in_sandbox(trust_directory, authority.certificate(), host));
  std::unique_ptr<Inspection> made(
      new Inspection(std::move(authority), TRY(ServerTrust::create(host)), std::move(trust)));
  for (const NetworkSecret& secret : policy.secrets) {
    const std::string& placeholder =
        made->placeholders_.emplace(secret.name, new_placeholder(secret.name)).first->second;
    made->sandbox_trust_.environment.push_back(secret.name + "=" + placeholder);
  }
  TRY(made->set_secrets(policy));
  return made;
}

InspectSettings Inspection::settings() const {
  InspectSettings settings;
  settings.authority = &authority_;
  settings.trust = &server_trust_;
  settings.secrets = secrets_.with([](const auto& secrets) { return secrets; });
  return settings;
}

Result<> Inspection::set_secrets(const NetworkPolicy& policy) {
  std::vector<Secret> secrets;
  for (const NetworkSecret& secret : policy.secrets) {
    const auto found = placeholders_.find(secret.name);
    if (found == placeholders_.end()) {
      return failure(ErrorCode::Conflict,
                     fmt::format("secret {}: the sandbox was started without it; make another "
                                 "sandbox with it",
                                 secret.name));
    }
    secrets.push_back(TRY(to_secret(secret, found->second)));
  }
  secrets_.with([&](auto& now) { now = std::move(secrets); });
  return {};
}

}  // namespace nutshell::egress
