// The caches of package managers and compilers that the sandboxes of a project leave to later ones:
// one archive for each project, in the user's state directory. It is never unpacked on the host.
// The process that will save the caches of a sandbox holds a lock for as long as it lives. Safe for
// any number of processes.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "core/backend.h"
#include "saved/change_archive.h"
#include "saved/saved_workspaces.h"

namespace nutshell::saved {

// Below HOME. They hold downloads and compiled files. Settings of programs lie beside them and are
// not kept, so that a command cannot change what later commands do by a file like ~/.npmrc.
inline constexpr std::array<std::string_view, 17> kCacheDirectories = {
    ".cache/ccache", ".cache/composer", ".cache/go-build",       ".cache/pip",
    ".cache/pnpm",   ".cache/pypoetry", ".cache/sccache",        ".cache/uv",
    ".cache/yarn",   ".cargo/git/db",   ".cargo/registry/cache", ".cargo/registry/index",
    ".ccache",       ".gradle/caches",  ".m2/repository",        ".npm/_cacache",
    "go/pkg/mod",
};

enum class CachePlace {
  Elsewhere,
  Above,  // a directory that leads to a cache
  Within,
};
// `path` is relative to HOME.
CachePlace cache_place(std::string_view path);

// NUTSHELL_CACHES_BYTES, for all projects together and for each; caches that were not saved for 30
// days are removed.
Result<Bounds> cache_bounds();

// The process that saves the caches of one sandbox uses this.
class CacheSaving {
 public:
  // `base` is that of KeptCaches.
  static Result<CacheSaving> begin(const std::filesystem::path& base, const std::string& sandbox);
  CacheSaving(CacheSaving&&) = default;

  // A process with a copy of this descriptor holds the lock. The file becomes visible by commit().
  [[nodiscard]] int file() const { return file_.get(); }
  Result<> commit(const Bounds& bounds);
  // Keeps the caches that were there before, and remembers why.
  void fail(const std::string& why);
  void drop();

 private:
  CacheSaving(std::filesystem::path base, std::filesystem::path unfinished, UniqueFd file)
      : base_(std::move(base)), unfinished_(std::move(unfinished)), file_(std::move(file)) {}

  std::filesystem::path base_;
  std::filesystem::path unfinished_;
  UniqueFd file_;
};

class KeptCaches {
 public:
  // The caches of sandboxes with this workspace and image. Makes the directory that holds them.
  static Result<KeptCaches> of_project(const std::string& workspace, const std::string& image);
  explicit KeptCaches(std::filesystem::path base) : base_(std::move(base)) {}

  // The archive; names of other files begin with it.
  [[nodiscard]] const std::filesystem::path& base() const { return base_; }

  struct Found {
    ArchiveReader archive;
    std::uint64_t bytes = 0;
  };
  // Nullopt if nothing is kept.
  [[nodiscard]] Result<std::optional<Found>> find() const;
  void forget() const;
  // Returns why the last sandbox's caches were not kept, once; empty if they were.
  [[nodiscard]] std::string take_failure() const;
  // The sandboxes whose caches will be saved: they live, or are being saved.
  [[nodiscard]] std::vector<std::string> unsaved() const;

  // Removes what is older than the bounds allow, then the oldest until the rest fits. `directory`
  // holds the caches of all projects.
  static void make_room(const std::filesystem::path& directory, const Bounds& bounds,
                        SweepMode mode, SweepReport& report);
  // The directory of this user; it need not exist.
  static Result<std::filesystem::path> directory();

 private:
  std::filesystem::path base_;
};

}  // namespace nutshell::saved
