// Loads the renderer files of a directory, and keeps a list of a project's files that the user
// trusts. A renderer decides what a model sees, so a project's file is used only after the user
// trusted its content.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "compaction/user_renderer.h"

namespace nutshell::compaction {

// The list of trusted files: a file of the user's with one SHA-256 digest per line.
class TrustedRenderers {
 public:
  explicit TrustedRenderers(std::filesystem::path path) : path_(std::move(path)) {}

  // ~/.config/nutshell/trusted_renderers, or below XDG_CONFIG_HOME
  static Result<std::filesystem::path> default_path();

  [[nodiscard]] Result<std::vector<std::string>> digests() const;
  // Trusts every file of the directory with its present content; returns how many.
  Result<std::size_t> trust(const std::filesystem::path& directory) const;
  Result<std::size_t> untrust(const std::filesystem::path& directory) const;

 private:
  std::filesystem::path path_;
};

struct LoadedRenderers {
  std::vector<UserRenderer> renderers;  // by file name
  std::vector<std::string> problems;    // one line for each file that is not used
};

// Returns no renderers if the directory does not exist.
LoadedRenderers load_user_renderers(const std::filesystem::path& directory);
LoadedRenderers load_project_renderers(const std::filesystem::path& directory,
                                       const TrustedRenderers& trusted);

}  // namespace nutshell::compaction
