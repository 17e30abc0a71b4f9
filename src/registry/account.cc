#include "registry/account.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/file.h"
#include "core/json_members.h"
#include "core/json_text.h"

namespace nutshell::registry {
namespace {

using Json = nlohmann::json;

struct ConfigEntry {
  std::string server;  // as the configuration spells it
  const Json* entry = nullptr;
};

// Docker's own registry is listed under an address that ends with /v1/, others under their names.
ConfigEntry find_entry(const Json& document, const char* list, const std::string& registry) {
  constexpr std::string_view kFirstVersion = "/v1/";
  const Json* entries = member(document, list);
  if (entries == nullptr || !entries->is_object()) return {};
  for (const auto& [key, entry] : entries->items()) {
    std::string name = key.substr(key.starts_with("https://") ? 8 : 0);
    const bool is_own = name.ends_with(kFirstVersion);
    name.resize(std::min(name.size(), name.find('/')));
    if (registry.empty() ? is_own : name == registry) return {key, &entry};
  }
  return {};
}

// The credential helper for this registry, else the one for all.
struct Program {
  std::string name;  // empty if there is none
  std::string server;
};

Program program_for(const Json& document, const std::string& registry) {
  const ConfigEntry own = find_entry(document, "credHelpers", registry);
  if (own.entry != nullptr && own.entry->is_string())
    return {own.entry->get<std::string>(), own.server};
  const std::string server = find_entry(document, "auths", registry).server;
  if (server.empty() && registry.empty()) return {};
  return {text_of(document, "credsStore"), server.empty() ? registry : server};
}

Result<RegistryAccount> account_in(const Json& entry) {
  const std::string token = text_of(entry, "identitytoken");
  if (!token.empty()) return RegistryAccount{kTokenUser, token};
  const auto pair = from_base64(text_of(entry, "auth"));
  if (!pair)
    return failure(ErrorCode::InvalidArgument, "an account in Docker's config.json is not base64");
  const std::size_t colon = pair->find(':');
  if (colon == std::string::npos) return RegistryAccount{};
  return RegistryAccount{pair->substr(0, colon), pair->substr(colon + 1)};
}

}  // namespace

Result<FoundAccount> find_account(const std::filesystem::path& docker_directory,
                                  const std::string& registry) {
  const auto text = read_file(docker_directory / "config.json");
  if (!text) return FoundAccount{};
  const auto document = parse_strict(*text);
  if (!document) return while_doing("read Docker's config.json", document.error());
  if (const Program program = program_for(*document, registry); !program.name.empty())
    return FoundAccount{program.server, TRY(ask_credential_program(program.name, program.server))};
  const ConfigEntry kept = find_entry(*document, "auths", registry);
  if (kept.entry == nullptr) return FoundAccount{};
  return FoundAccount{kept.server, TRY(account_in(*kept.entry))};
}

}  // namespace nutshell::registry
