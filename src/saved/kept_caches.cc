#include "saved/kept_caches.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/byte_size.h"
#include "base/directory.h"
#include "base/environment.h"
#include "base/file.h"
#include "base/sha256.h"
#include "base/state_directory.h"
#include "core/sandbox_id.h"

namespace nutshell::saved {
namespace {

namespace fs = std::filesystem;
using std::chrono::system_clock;

constexpr const char* kUnfinished = ".new";
constexpr const char* kFailed = ".why";
constexpr std::size_t kKeyLength = 32;
constexpr std::size_t kMostFailureBytes = 4096;
constexpr std::uint64_t kDays = 30;
// A file that is younger may get its lock in a moment.
constexpr auto kYoung = std::chrono::hours(1);

bool is_locked(const fs::path& file) {
  const auto opened = open_file(file, O_RDONLY | O_NOFOLLOW);
  if (!opened || ::flock(opened->get(), LOCK_SH | LOCK_NB) == 0) return false;
  return errno == EWOULDBLOCK;
}

struct CacheFile {
  fs::path path;
  std::uint64_t bytes = 0;
  system_clock::time_point saved;
};

std::vector<CacheFile> files_in(const fs::path& directory) {
  std::vector<CacheFile> all;
  std::error_code error;
  for (const auto& item : fs::directory_iterator(directory, error)) {
    struct stat status {};
    if (::lstat(item.path().c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    all.push_back({item.path(), static_cast<std::uint64_t>(status.st_size),
                   system_clock::time_point(std::chrono::seconds(status.st_mtim.tv_sec))});
  }
  std::sort(all.begin(), all.end(),
            [](const auto& left, const auto& right) { return left.saved > right.saved; });
  return all;
}

void remove_file(const fs::path& file, std::string_view what, SweepMode mode, SweepReport& report) {
  const bool is_gone = mode == SweepMode::DryRun || ::unlink(file.c_str()) == 0;
  (is_gone ? report.removed : report.failed)
      .push_back(fmt::format("{} {}", what, file.filename().native()));
}

}  // namespace

CachePlace cache_place(std::string_view path) {
  for (const std::string_view cache : kCacheDirectories) {
    const bool is_below = path.size() > cache.size() && path[cache.size()] == '/';
    if (path == cache || (is_below && path.starts_with(cache))) return CachePlace::Within;
    if (cache.size() > path.size() && cache.starts_with(path) && cache[path.size()] == '/')
      return CachePlace::Above;
  }
  return CachePlace::Elsewhere;
}

Result<Bounds> cache_bounds() {
  Bounds bounds;
  bounds.days = kDays;
  const std::string bytes = environment_variable("NUTSHELL_CACHES_BYTES");
  if (bytes.empty()) return bounds;
  auto parsed = parse_byte_size(bytes);
  if (!parsed) return while_doing("NUTSHELL_CACHES_BYTES", std::move(parsed).error());
  bounds.bytes = *parsed;
  return bounds;
}

Result<CacheSaving> CacheSaving::begin(const fs::path& base, const std::string& sandbox) {
  if (!is_sandbox_id(sandbox)) return failure(ErrorCode::InvalidArgument, "not an id: " + sandbox);
  fs::path unfinished = base.native() + "." + sandbox + kUnfinished;
  UniqueFd file = TRY(open_file(unfinished, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600));
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0)
    return syscall_failure("lock", unfinished.native());
  return CacheSaving(base, std::move(unfinished), std::move(file));
}

Result<> CacheSaving::commit(const Bounds& bounds) {
  // The name goes before the lock, so whoever sees no lock finds the new caches.
  if (::rename(unfinished_.c_str(), base_.c_str()) != 0)
    return syscall_failure("rename", unfinished_.native());
  ::unlink((base_.native() + kFailed).c_str());
  SweepReport report;
  KeptCaches::make_room(base_.parent_path(), bounds, SweepMode::Remove, report);
  return {};
}

void CacheSaving::fail(const std::string& why) {
  (void)write_file(base_.native() + kFailed, why, 0600);  // without it, nobody learns the reason
  drop();
}

void CacheSaving::drop() {
  ::unlink(unfinished_.c_str());  // 'nutshell gc' removes what is left
}

Result<fs::path> KeptCaches::directory() {
  return TRY(user_state_directory()) / "caches";
}

Result<KeptCaches> KeptCaches::of_project(const std::string& workspace, const std::string& image) {
  const fs::path place = TRY(make_user_state_directory()) / "caches";
  TRY(make_private_directory(place));
  std::error_code error;
  const fs::path real = fs::weakly_canonical(workspace, error);
  const std::string project = (error ? fs::path(workspace) : real).native() + '\0' + image;
  return KeptCaches(place / sha256_hex(project).substr(0, kKeyLength));
}

Result<std::optional<KeptCaches::Found>> KeptCaches::find() const {
  auto file = open_file(base_, O_RDONLY | O_NOFOLLOW);
  if (!file && file.error().code == ErrorCode::NotFound) return std::optional<Found>();
  if (!file) return Failure(std::move(file).error());
  struct stat status {};
  if (::fstat(file->get(), &status) != 0) return syscall_failure("stat", base_.native());
  return std::optional(Found{TRY(ArchiveReader::open(std::move(*file))),
                             static_cast<std::uint64_t>(status.st_size)});
}

void KeptCaches::forget() const {
  ::unlink(base_.c_str());
}

std::string KeptCaches::take_failure() const {
  const std::string place = base_.native() + kFailed;
  const auto why = read_file(place, kMostFailureBytes);
  if (!why) return {};
  ::unlink(place.c_str());
  return *why;
}

std::vector<std::string> KeptCaches::unsaved() const {
  std::vector<std::string> sandboxes;
  const std::string beginning = base_.filename().native() + '.';
  for (const CacheFile& file : files_in(base_.parent_path())) {
    const std::string name = file.path.filename().native();
    if (!name.starts_with(beginning) || file.path.extension() != kUnfinished) continue;
    if (!is_locked(file.path)) continue;
    sandboxes.push_back(file.path.stem().native().substr(beginning.size()));
  }
  return sandboxes;
}

void KeptCaches::make_room(const fs::path& directory, const Bounds& bounds, SweepMode mode,
                           SweepReport& report) {
  const auto now = system_clock::now();
  const auto age_bound = std::chrono::hours(24 * static_cast<std::int64_t>(bounds.days));
  std::uint64_t bytes = 0;
  for (const CacheFile& file : files_in(directory)) {  // the newest first
    const fs::path kind = file.path.extension();
    if (kind == kUnfinished) {
      if (now - file.saved > kYoung && !is_locked(file.path))
        remove_file(file.path, "unfinished caches", mode, report);
      continue;
    }
    if (kind != kFailed) bytes += file.bytes;
    if (now - file.saved < age_bound && bytes <= bounds.bytes) continue;
    if (kind == kFailed && now - file.saved < age_bound) continue;
    remove_file(file.path, "kept caches", mode, report);
    if (kind != kFailed) bytes -= file.bytes;
  }
}

}  // namespace nutshell::saved
