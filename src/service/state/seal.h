// Encrypts what is secret in the state file, so that a copy of that file alone tells nothing:
// AES-256-GCM with a key that lies in a file of its own. Thread-safe.
#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace nutshell::service {

class Seal {
 public:
  // Reads the key, or makes one where there is no such file. It must be a file of ours with mode
  // 0600 or less.
  static Result<Seal> open(const std::filesystem::path& key_file);

  // `name` says what it is: a text that was sealed under another name does not open.
  [[nodiscard]] Result<std::string> close(std::string_view text, std::string_view name) const;
  [[nodiscard]] Result<std::string> open_text(std::string_view sealed, std::string_view name) const;
  // Whether it is of this form; states of earlier versions hold plain texts.
  static bool is_sealed(std::string_view text);

 private:
  static constexpr std::size_t kKeyBytes = 32;
  using Key = std::array<unsigned char, kKeyBytes>;
  explicit Seal(const Key& key) : key_(key) {}
  Key key_;
};

}  // namespace nutshell::service
