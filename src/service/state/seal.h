// Encrypts secrets in the state file with AES-256-GCM. The key is in another file, so a copy of the
// state file alone reveals nothing. Thread-safe.
#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace nutshell::service {

class Seal {
 public:
  // Reads the key, or makes one if there is no such file. Refuses a file of another user, or with a
  // mode beyond 0600.
  static Result<Seal> open(const std::filesystem::path& key_file);

  // `name` binds the text to its place: a text that was sealed under another name does not open.
  [[nodiscard]] Result<std::string> close(std::string_view text, std::string_view name) const;
  [[nodiscard]] Result<std::string> open_text(std::string_view sealed, std::string_view name) const;
  // False for plain text, which state files of earlier versions hold.
  static bool is_sealed(std::string_view text);

 private:
  static constexpr std::size_t kKeyBytes = 32;
  using Key = std::array<unsigned char, kKeyBytes>;
  explicit Seal(const Key& key) : key_(key) {}
  Key key_;
};

}  // namespace nutshell::service
