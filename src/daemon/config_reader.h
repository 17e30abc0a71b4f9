// Reads a TOML file into settings.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/config.h"

namespace nutshell::daemon {

// A known setting. Its kind decides which values it takes.
struct Known {
  enum class Kind { Text, Number, Bytes, Cores, Truth, Texts };
  std::string key;
  Kind kind = Kind::Text;
  std::string by_default;
  std::string help;
};
const std::vector<Known>& known_settings();

class ConfigReader {
 public:
  ConfigReader(Config& config, std::filesystem::path file)
      : config_(config), file_(std::move(file)) {}
  Result<> read();

 private:
  struct Toml;  // keeps toml++ in the source file
  Result<> take_section(const std::string& section, const Toml& table);
  Result<> take_value(const std::string& key, const Toml& node);
  Result<> take_list(const std::string& name, const Toml& list);
  Result<> take_token(const Toml& table);
  Result<> take_certificate(const Toml& table);
  Result<> take_pool(const Toml& table);
  Result<> take_quota(const Toml& table);
  Result<> check_keys(const Toml& table, const std::vector<std::string>& keys,
                      std::string_view where);
  Failure wrong(const Toml& node, std::string_view what) const;

  Config& config_;
  std::filesystem::path file_;
};

}  // namespace nutshell::daemon
