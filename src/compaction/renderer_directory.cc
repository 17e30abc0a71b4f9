#include "compaction/renderer_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <functional>

#include "base/environment.h"
#include "base/file.h"
#include "base/sha256.h"
#include "compaction/clean.h"

namespace nutshell::compaction {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostBytes = 256U << 10U;
constexpr std::size_t kMostFiles = 500;

std::vector<fs::path> toml_files(const fs::path& directory) {
  std::vector<fs::path> files;
  std::error_code error;  // a directory that cannot be read has no renderers
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() == ".toml" && files.size() < kMostFiles) files.push_back(at->path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// A project may hold FIFOs, and links to devices and terminals, which nobody may wait for.
Result<std::string> read_regular_file(const fs::path& path) {
  const UniqueFd file = TRY(open_file(path, O_RDONLY | O_NONBLOCK | O_NOCTTY));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return syscall_failure("stat", path.native());
  if (!S_ISREG(status.st_mode))
    return failure(ErrorCode::InvalidArgument, path.native() + " is not a regular file");
  auto bytes = read_all(file.get(), kMostBytes);
  if (!bytes) return while_doing(path.native(), std::move(bytes).error());
  return bytes;
}

using Check = std::function<Result<>(const std::string& content)>;

LoadedRenderers load(const fs::path& directory, const Check& check) {
  LoadedRenderers loaded;
  const auto load_one = [&](const fs::path& file) -> Result<> {
    const auto content = TRY(read_regular_file(file));
    const auto allowed = check(content);
    if (!allowed) return while_doing(file.native(), allowed.error());
    loaded.renderers.push_back(TRY(UserRenderer::parse(content, file.native())));
    return {};
  };
  for (const fs::path& file : toml_files(directory)) {
    const auto done = load_one(file);
    if (!done) loaded.problems.push_back(done.error().message);
  }
  return loaded;
}

Result<std::vector<std::string>> digests_in(const fs::path& directory) {
  std::vector<std::string> digests;
  for (const fs::path& file : toml_files(directory))
    digests.push_back(sha256_hex(TRY(read_regular_file(file))));
  return digests;
}

Result<> store(const fs::path& path, const std::vector<std::string>& digests) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (error) return syscall_failure(error.value(), "mkdir", path.parent_path().native());
  std::string text;
  for (const std::string& digest : digests)
    text += digest + "\n";
  // Writes a new file and renames it, so that a crash leaves the old list or the new one.
  const auto beside = path.native() + ".new";
  TRY(write_file(beside, text, 0600));
  if (::rename(beside.c_str(), path.c_str()) != 0) return syscall_failure("rename", path.native());
  return {};
}

bool has(const std::vector<std::string>& list, const std::string& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

}  // namespace

Result<fs::path> TrustedRenderers::default_path() {
  if (const auto config = environment_path("XDG_CONFIG_HOME"); !config.empty())
    return config / "nutshell/trusted_renderers";
  if (const auto home = environment_path("HOME"); !home.empty())
    return home / ".config/nutshell/trusted_renderers";
  return failure(ErrorCode::NotFound, "neither XDG_CONFIG_HOME nor HOME names a directory");
}

Result<std::vector<std::string>> TrustedRenderers::digests() const {
  std::vector<std::string> digests;
  if (!fs::exists(path_)) return digests;
  const auto content = TRY(read_file(path_));
  for (std::string_view rest = content; !rest.empty();)
    digests.emplace_back(take_line(rest));
  return digests;
}

Result<std::size_t> TrustedRenderers::trust(const fs::path& directory) const {
  auto all = TRY(digests());
  const auto found = TRY(digests_in(directory));
  for (const std::string& digest : found) {
    if (!has(all, digest)) all.push_back(digest);
  }
  TRY(store(path_, all));
  return found.size();
}

Result<std::size_t> TrustedRenderers::untrust(const fs::path& directory) const {
  auto all = TRY(digests());
  const auto found = TRY(digests_in(directory));
  const auto gone = std::erase_if(all, [&](const std::string& one) { return has(found, one); });
  TRY(store(path_, all));
  return gone;
}

LoadedRenderers load_user_renderers(const fs::path& directory) {
  return load(directory, [](const std::string& /*content*/) { return Result<>(); });
}

LoadedRenderers load_project_renderers(const fs::path& directory, const TrustedRenderers& trusted) {
  const auto digests = trusted.digests();
  return load(directory, [&](const std::string& content) -> Result<> {
    if (!digests) return while_doing("read the trusted renderers", digests.error());
    if (has(*digests, sha256_hex(content))) return {};
    return failure(ErrorCode::PermissionDenied,
                   fmt::format("not trusted; 'nutshell render trust {}' trusts it as it is now",
                               directory.native()));
  });
}

}  // namespace nutshell::compaction
