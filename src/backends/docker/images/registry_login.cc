#include <nlohmann/json.hpp>

#include "backends/docker/engine/engine_json.h"
#include "backends/docker/images/image_source.h"
#include "core/json_text.h"
#include "registry/account.h"

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

std::string login_of(const std::string& server, const registry::RegistryAccount& account) {
  Json login = {{"serveraddress", server}};
  if (account.user == registry::kTokenUser) {
    login["identitytoken"] = account.secret;
  } else {
    login["username"] = account.user;
    login["password"] = account.secret;
  }
  return base64_url(dump_json(login));
}

}  // namespace

Result<std::string> registry_login(const std::string& image, const Variables& variables) {
  const auto found =
      TRY(registry::find_account(docker_config_directory(variables), registry_of(image)));
  if (found.account.secret.empty()) return std::string();
  return login_of(found.server, found.account);
}

}  // namespace nutshell::docker
