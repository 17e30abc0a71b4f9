#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "backends/docker/engine_json.h"
#include "backends/docker/image_source.h"
#include "base/file.h"

namespace nutshell::docker {
namespace {

constexpr std::string_view kLetters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

// RFC 4648 with the letters that may stand in a URL, padded, as engines want it.
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

struct Credentials {
  std::string key;
  const Json* entry = nullptr;
};

// The engine's own registry is kept under an address that ends with its first version's path; any
// other under its name.
Credentials entry_for(const Json& auths, const std::string& registry) {
  constexpr std::string_view kFirstVersion = "/v1/";
  if (!auths.is_object()) return {};
  for (const auto& [key, entry] : auths.items()) {
    std::string name = key.substr(key.starts_with("https://") ? 8 : 0);
    const bool is_own = name.ends_with(kFirstVersion);
    name.resize(std::min(name.size(), name.find('/')));
    if (registry.empty() ? is_own : name == registry) return {key, &entry};
  }
  return {};
}

}  // namespace

Result<std::string> registry_login(const std::string& image, const Variables& variables) {
  const auto text = read_file(docker_config_directory(variables) / "config.json");
  if (!text) return std::string();
  const Json document = TRY(parse_json(*text));
  const Json* auths = member(document, "auths");
  const Credentials kept = auths != nullptr ? entry_for(*auths, registry_of(image)) : Credentials{};
  if (kept.entry == nullptr) return std::string();
  Json login = {{"serveraddress", kept.key}};
  const std::string token = text_of(*kept.entry, "identitytoken");
  const std::string pair = TRY(from_base64(text_of(*kept.entry, "auth")));
  const std::size_t colon = pair.find(':');
  if (!token.empty()) {
    login["identitytoken"] = token;
  } else if (colon != std::string::npos) {
    login["username"] = pair.substr(0, colon);
    login["password"] = pair.substr(colon + 1);
  } else {
    return std::string();  // kept by a helper program
  }
  return base64_url(login.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace nutshell::docker
