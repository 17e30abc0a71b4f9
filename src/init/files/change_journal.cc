#include "init/files/change_journal.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <charconv>

#include "base/file.h"
#include "init/files/cache_path.h"

namespace nutshell::init {
namespace {

// The cost of a path besides its bytes, so that a million empty files count, too.
constexpr std::uint64_t kBytesPerPath = 256;

std::uint64_t kept_bytes(const Image& image) {
  return image.info.target.size() + (image.content ? image.content->bytes_kept() : 0);
}

std::uint64_t kept_bytes(const std::vector<PathChange>& paths) {
  std::uint64_t bytes = 0;
  for (const PathChange& change : paths) {
    bytes +=
        kBytesPerPath + change.path.size() + kept_bytes(change.before) + kept_bytes(change.after);
  }
  return bytes;
}

void drop_large(Image& after) {
  if (after.content && after.content->bytes_kept() > ChangeJournal::kMostAfterBytes) {
    after.content.reset();
  }
}

// Returns 12 for "u12", zero for anything else.
std::uint64_t number_of(std::string_view id) {
  std::uint64_t number = 0;
  if (!id.starts_with('u')) return 0;
  const auto [end, error] = std::from_chars(id.data() + 1, id.data() + id.size(), number);
  return error == std::errc() && end == id.data() + id.size() ? number : 0;
}

// Whether all files are caches; the directories that were made for them do not count.
bool wrote_only_caches(const std::vector<PathChange>& paths) {
  bool has_file = false;
  for (const PathChange& change : paths) {
    const Image& image = change.after.is_there() ? change.after : change.before;
    if (image.info.kind == wire::FileKind::Directory) continue;
    if (!is_cache_path(change.path)) return false;
    has_file = true;
  }
  return has_file;
}

}  // namespace

Result<UniqueFd> MemoryContent::open() const {
  UniqueFd fd(::memfd_create("before", MFD_CLOEXEC));
  if (!fd) return syscall_failure("memfd_create");
  TRY(write_all(fd.get(), bytes_));
  if (::lseek(fd.get(), 0, SEEK_SET) != 0) return syscall_failure("lseek");
  return fd;
}

std::string ChangeJournal::record(std::string label, std::vector<PathChange> paths) {
  for (PathChange& change : paths)
    drop_large(change.after);
  const std::uint64_t bytes = kept_bytes(paths);
  if (paths.empty() || bytes > kMostBytes) return {};
  while (changes_.size() >= kMostChanges || bytes_ + bytes > kMostBytes)
    drop_oldest();
  bytes_ += bytes;
  changes_.push_back(
      {fmt::format("u{}", ++last_number_), std::move(label), std::move(paths), {}, {}, bytes});
  return changes_.back().id;
}

std::string ChangeJournal::record_undo(const std::string& id, std::vector<PathChange> paths) {
  const Change* before = find(id);
  const std::string earlier = before == nullptr ? std::string() : before->reverts;
  std::string undo_id = record("undo " + id, std::move(paths));
  if (!undo_id.empty()) changes_.back().reverts = id;
  if (Change* undone = find_kept(id)) undone->undone_by = undo_id.empty() ? "undo" : undo_id;
  if (Change* redone = find_kept(earlier)) redone->undone_by.clear();
  return undo_id;
}

void ChangeJournal::drop_oldest() {
  bytes_ -= changes_.front().bytes;
  changes_.pop_front();
}

ChangeJournal::Change* ChangeJournal::find_kept(std::string_view id) {
  const auto found = std::find_if(changes_.begin(), changes_.end(),
                                  [&](const Change& change) { return change.id == id; });
  return found == changes_.end() ? nullptr : &*found;
}

const ChangeJournal::Change* ChangeJournal::find(std::string_view id) const {
  const auto found = std::find_if(changes_.begin(), changes_.end(),
                                  [&](const Change& change) { return change.id == id; });
  return found == changes_.end() ? nullptr : &*found;
}

bool ChangeJournal::was_given(std::string_view id) const {
  const std::uint64_t number = number_of(id);
  return number > 0 && number <= last_number_;
}

const ChangeJournal::Change* ChangeJournal::newest_undoable() const {
  const Change* newest = nullptr;
  for (auto change = changes_.rbegin(); change != changes_.rend(); ++change) {
    if (!change->reverts.empty() || !change->undone_by.empty()) continue;
    if (!wrote_only_caches(change->paths)) return &*change;
    if (newest == nullptr) newest = &*change;
  }
  return newest;
}

const Image* ChangeJournal::before_last_change(std::string_view path) const {
  for (auto change = changes_.rbegin(); change != changes_.rend(); ++change) {
    for (const PathChange& item : change->paths) {
      if (item.path == path) return &item.before;
    }
  }
  return nullptr;
}

std::shared_ptr<const Content> ChangeJournal::left_behind(std::string_view path,
                                                          std::string_view version) const {
  constexpr std::size_t kMostLookedAt = 16;
  std::size_t looked_at = 0;
  for (auto change = changes_.rbegin(); change != changes_.rend(); ++change) {
    if (++looked_at > kMostLookedAt) break;
    if (change->paths.size() != 1 || change->paths.front().path != path) continue;
    const PathChange& last = change->paths.front();
    return last.after_version == version ? last.after.content : nullptr;
  }
  return nullptr;
}

}  // namespace nutshell::init
