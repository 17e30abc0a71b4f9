#include "egress/inspection.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <filesystem>
#include <utility>

#include "egress/host_name.h"
#include "egress/inspect/secrets.h"
#include "egress/rules.h"

namespace nutshell::egress {
namespace {

constexpr std::uint64_t kMostKept = 10ULL << 30U;

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
  for (const Rule& rule : rules->rules()) {
    const bool is_every_name = rule.is_wildcard && rule.name.find('.') == std::string::npos;
    if (!rule.range && !is_every_name) continue;
    return failure(ErrorCode::InvalidArgument,
                   fmt::format("secret {}: {:.80} is {}; name hosts, as in host=api.example.org",
                               secret.name, rule.text,
                               rule.range ? "an address, and values go by the names of hosts"
                                          : "every host of a top-level domain"));
  }
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

Result<PackageStore> open_store(const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  const auto space = std::filesystem::space(directory, error);
  if (error) return syscall_failure(error.value(), "open the kept downloads", directory);
  return PackageStore::open(directory, std::min<std::uint64_t>(kMostKept, space.capacity / 10));
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
                                                       const Places& places) {
  const std::string host = TRY(host_authorities(places.authorities));
  Authority authority = TRY(Authority::create());
  SandboxTrust trust = TRY(trust_in_sandbox(places.trust, authority.certificate(), host));
  std::unique_ptr<Inspection> made(new Inspection(
      std::move(authority), TRY(ServerTrust::create(host)), std::move(trust), places.downloads));
  for (const NetworkSecret& secret : policy.secrets) {
    const std::string& placeholder =
        made->placeholders_.emplace(secret.name, new_placeholder(secret.name)).first->second;
    made->sandbox_trust_.environment.push_back(secret.name + "=" + placeholder);
  }
  TRY(made->set_policy(policy));
  return made;
}

InspectSettings Inspection::settings() const {
  InspectSettings settings;
  settings.authority = &authority_;
  settings.trust = &server_trust_;
  current_.with([&](const Current& current) {
    settings.secrets = current.secrets;
    if (!current.registries.empty()) settings.cache = {current.store.get(), current.registries};
  });
  return settings;
}

Result<std::vector<Secret>> Inspection::secrets_of(const NetworkPolicy& policy) const {
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
  return secrets;
}

Result<> Inspection::set_policy(const NetworkPolicy& policy) {
  std::vector<Secret> secrets = TRY(secrets_of(policy));
  return current_.with([&](Current& current) -> Result<> {
    if (!policy.caches.empty() && !current.store)
      current.store = std::make_unique<PackageStore>(TRY(open_store(downloads_)));
    current.secrets = std::move(secrets);
    current.registries = policy.caches;
    return {};
  });
}

}  // namespace nutshell::egress
