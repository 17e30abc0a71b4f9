// Renderer files of a directory, and which of a project's files the user trusts: a project's
// renderer decides what a model sees, so it counts only after its very content was agreed to.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "compaction/user_renderer.h"

namespace nutshell::compaction {

// SHA-256 digests of trusted files, one a line, in a file of the user's.
class TrustedRenderers {
 public:
  explicit TrustedRenderers(std::filesystem::path path) : path_(std::move(path)) {}

  // ~/.config/nutshell/trusted_renderers, or below XDG_CONFIG_HOME
  static Result<std::filesystem::path> default_path();

  [[nodiscard]] Result<std::vector<std::string>> digests() const;
  // Every file of the directory, as it is now. Says how many.
  Result<std::size_t> trust(const std::filesystem::path& directory) const;
  Result<std::size_t> untrust(const std::filesystem::path& directory) const;

 private:
  std::filesystem::path path_;
};

struct LoadedRenderers {
  std::vector<UserRenderer> renderers;  // by file name
  std::vector<std::string> problems;    // one line for each file that is not used
};

// A directory that is not there has none.
LoadedRenderers load_user_renderers(const std::filesystem::path& directory);
LoadedRenderers load_project_renderers(const std::filesystem::path& directory,
                                       const TrustedRenderers& trusted);

}  // namespace nutshell::compaction
