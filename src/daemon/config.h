// The settings of the daemon from a TOML file, the environment and the command line. Each value
// knows its origin. Unknown keys are errors.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "server/http/gate.h"
#include "service/tenants/service_options.h"

namespace nutshell::daemon {

// A single value, as text: "tcp.port" = "7070" from "nutshelld.toml:4".
struct Setting {
  std::string value;
  std::string origin = "default";
};

class Config {
 public:
  // The defaults with this file over them; the defaults alone if `file` is empty.
  static Result<Config> load(const std::filesystem::path& file);

  [[nodiscard]] const std::string& text(std::string_view key) const;
  [[nodiscard]] std::uint64_t number(std::string_view key) const;
  [[nodiscard]] std::uint64_t millicpus(std::string_view key) const;  // from a number of cores
  [[nodiscard]] std::chrono::milliseconds seconds(std::string_view key) const;
  [[nodiscard]] bool is_true(std::string_view key) const { return text(key) == "true"; }
  [[nodiscard]] std::vector<std::string> texts(std::string_view key) const;  // a list's items

  // Sets a value from the environment or the command line. The key must be known.
  void override_with(std::string_view key, std::string value, std::string origin);

  [[nodiscard]] const std::map<std::string, Setting, std::less<>>& settings() const {
    return settings_;
  }

  std::vector<server::Token> tokens;
  std::map<std::string, std::string> certificates;
  std::vector<service::PoolSpec> pools;
  // A [[quotas]] table: the values of one tenant. Others are those of [quota] and [allow].
  struct TenantQuota {
    std::map<service::Resource, std::uint64_t> most;
    std::optional<service::Allowed> allowed;
  };
  std::map<std::string, TenantQuota> quotas;

 private:
  friend class ConfigReader;
  std::map<std::string, Setting, std::less<>> settings_;
};

// Refuses TCP without tokens or client certificates, and tokens over a network without TLS.
Result<> check_doors(const Config& config);

}  // namespace nutshell::daemon
