#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "backends/docker/engine/engine_json.h"
#include "backends/docker/images/credential_program.h"
#include "backends/docker/images/image_source.h"
#include "base/file.h"

namespace nutshell::docker {
namespace {

constexpr std::string_view kLetters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

// The URL-safe alphabet of RFC 4648 with padding, as engines expect it.
std::string base64_url(std::string_view bytes) {
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::string_view part = bytes.substr(at, 3);
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 3; ++i)
      value = value << 8U | (i < part.size() ? static_cast<unsigned char>(part[i]) : 0U);
    for (std::size_t i = 0; i < 4; ++i)
      text += i <= part.size() ? kLetters[value >> (18 - 6 * i) & 63U] : '=';
  }
  return text;
}

Result<std::string> from_base64(std::string_view text) {
  std::string bytes;
  std::uint32_t value = 0;
  int bits = 0;
  for (char letter : text) {
    if (letter == '=') break;
    if (letter == '+') letter = '-';
    if (letter == '/') letter = '_';
    const std::size_t digit = kLetters.find(letter);
    if (digit == std::string_view::npos) return failure(ErrorCode::InvalidArgument, "not base64");
    value = value << 6U | static_cast<std::uint32_t>(digit);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes += static_cast<char>(value >> static_cast<unsigned>(bits) & 0xffU);
  }
  return bytes;
}

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

std::string login_of(const std::string& server, const RegistryAccount& account) {
  Json login = {{"serveraddress", server}};
  if (account.user == kTokenUser) {
    login["identitytoken"] = account.secret;
  } else {
    login["username"] = account.user;
    login["password"] = account.secret;
  }
  return base64_url(login.dump(-1, ' ', false, Json::error_handler_t::replace));
}

Result<RegistryAccount> account_in(const Json& entry) {
  const std::string token = text_of(entry, "identitytoken");
  if (!token.empty()) return RegistryAccount{kTokenUser, token};
  const std::string pair = TRY(from_base64(text_of(entry, "auth")));
  const std::size_t colon = pair.find(':');
  if (colon == std::string::npos) return RegistryAccount{};
  return RegistryAccount{pair.substr(0, colon), pair.substr(colon + 1)};
}

}  // namespace

Result<std::string> registry_login(const std::string& image, const Variables& variables) {
  const auto text = read_file(docker_config_directory(variables) / "config.json");
  if (!text) return std::string();
  const Json document = TRY(parse_json(*text));
  const std::string registry = registry_of(image);
  if (const Program program = program_for(document, registry); !program.name.empty()) {
    const auto account = TRY(ask_credential_program(program.name, program.server));
    return account.secret.empty() ? std::string() : login_of(program.server, account);
  }
  const ConfigEntry kept = find_entry(document, "auths", registry);
  if (kept.entry == nullptr) return std::string();
  const auto account = TRY(account_in(*kept.entry));
  return account.secret.empty() ? std::string() : login_of(kept.server, account);
}

}  // namespace nutshell::docker
