#include "daemon/config.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "base/loopback.h"
#include "daemon/config_reader.h"

namespace nutshell::daemon {
Result<Config> Config::load(const std::filesystem::path& file) {
  Config config;
  for (const Known& known : known_settings())
    config.settings_[known.key] = {known.by_default, "default"};
  if (!file.empty()) {
    ConfigReader reader(config, file);
    TRY(reader.read());
  }
  return config;
}

const std::string& Config::text(std::string_view key) const {
  return settings_.find(key)->second.value;
}

std::uint64_t Config::number(std::string_view key) const {
  const std::string& digits = text(key);
  std::uint64_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

std::uint64_t Config::millicpus(std::string_view key) const {
  return static_cast<std::uint64_t>(std::llround(std::strtod(text(key).c_str(), nullptr) * 1000));
}

std::chrono::milliseconds Config::seconds(std::string_view key) const {
  return std::chrono::seconds(number(key));
}

std::vector<std::string> Config::texts(std::string_view key) const {
  std::vector<std::string> items;
  std::string_view rest = text(key);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    items.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return items;
}

void Config::override_with(std::string_view key, std::string value, std::string origin) {
  const auto found = settings_.find(key);
  if (found != settings_.end()) found->second = {std::move(value), std::move(origin)};
}

Result<> check_doors(const Config& config) {
  if (config.number("tcp.port") == 0 && config.number("grpc.port") == 0) return {};
  const std::string& address = config.text("tcp.address");
  const bool has_tls = !config.text("tcp.certificate").empty();
  const bool has_mutual = !config.text("tcp.client_authority").empty();
  if (config.tokens.empty() && !(has_mutual && !config.certificates.empty())) {
    return failure(ErrorCode::InvalidArgument,
                   "tcp: anyone could come in: add [[tokens]], or client_authority with "
                   "[[certificates]]");
  }
  if (has_mutual && !has_tls) {
    return failure(ErrorCode::InvalidArgument, "tcp: client_authority needs certificate and key");
  }
  if (!has_tls && !is_loopback_address(address) && !config.is_true("tcp.unsafe_plain")) {
    return failure(
        ErrorCode::InvalidArgument,
        fmt::format("tcp: tokens would go over {} in the clear: add certificate and key, "
                    "or listen on 127.0.0.1",
                    address));
  }
  return {};
}

}  // namespace nutshell::daemon
