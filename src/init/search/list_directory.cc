#include "init/search/list_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.h"
#include "init/search/budget.h"
#include "init/search/described_entries.h"
#include "init/search/directory_entries.h"
#include "init/search/ignore_rules.h"

namespace nutshell::init::search {
namespace {

constexpr std::uint32_t kUsualEntries = 1000;
constexpr std::uint32_t kMostDepth = 32;
constexpr std::size_t kMostIgnoredNames = 20;
constexpr std::size_t kSmallRecords = 200U << 10U;  // about 5 000 entries
constexpr std::uint64_t kMostCounted = 10'000'000;

// Valid until its level is read again.
struct Name {
  std::string_view text;  // ended by NUL
  bool is_directory = false;
};

// A directory that is being listed; its memory is reused for the next on the same level.
struct Level {
  DirectoryEntries entries;
  std::vector<Name> names;
};

bool comes_first(const Name& a, const Name& b) {
  if (a.is_directory != b.is_directory) return a.is_directory;
  return a.text < b.text;
}

class Lister {
 public:
  Lister(const wire::ListDirectory& request, Effort effort)
      : request_(request),
        effort_(effort),
        budget_(request.most_entries == 0 ? kUsualEntries : request.most_entries),
        deadline_(Deadline::in(kListingTime)) {}

  // Returns false if it gave up.
  bool list(int directory, const std::string& path, std::uint32_t depth,
            std::shared_ptr<const IgnoreLevel> above);
  wire::Listing take() { return std::move(listing_); }

 private:
  bool read_names(int directory, const std::string& path, const IgnoreLevel* ignore, Level& level);
  void leave_out(const std::string& path);
  void show(int directory, const Name& name, const std::string& path);
  void show_last(int directory, const std::vector<Name>& names, const std::string& path);
  static std::uint64_t count_children(int directory, std::string_view name);

  const wire::ListDirectory& request_;
  Effort effort_;
  Budget budget_;
  Deadline deadline_;
  std::deque<Level> levels_;  // their places do not move
  wire::Listing listing_;
  std::uint64_t seen_ = 0;
};

void Lister::leave_out(const std::string& path) {
  ++listing_.total_ignored;
  if (listing_.ignored.size() < kMostIgnoredNames) listing_.ignored.push_back(path);
}

bool Lister::read_names(int directory, const std::string& path, const IgnoreLevel* ignore,
                        Level& level) {
  const bool is_small = effort_ == Effort::Small;
  const auto is_whole =
      level.entries.read(directory, is_small ? kSmallRecords : DirectoryEntries::kMostBytes);
  if (is_small && is_whole && !*is_whole) return false;
  if (!is_whole || !*is_whole) listing_.is_partial = 1;
  level.names.clear();
  std::vector<std::string> left_out;
  std::string whole = path;
  level.entries.for_each([&](const DirectoryEntries::Entry& entry) {
    const Name name{entry.text(), entry.type == DT_DIR};
    const bool is_git = name.is_directory && name.text == ".git";
    const EntryKind kind = name.is_directory ? EntryKind::Directory : EntryKind::Other;
    if (ignore != nullptr) whole.replace(path.size(), std::string::npos, name.text);
    const bool is_left_out =
        request_.includes_ignored == 0 && (is_git || is_ignored(ignore, whole, name.text, kind));
    if (is_left_out) left_out.push_back(path + entry.name);
    if (!is_left_out) level.names.push_back(name);
  });
  std::sort(left_out.begin(), left_out.end());
  for (const std::string& name : left_out)
    leave_out(name);
  std::sort(level.names.begin(), level.names.end(), comes_first);
  return true;
}

std::uint64_t Lister::count_children(int directory, std::string_view name) {
  const UniqueFd fd(
      ::openat(directory, name.data(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  DirectoryEntries children;
  if (!fd || !children.read(fd.get())) return 0;
  std::uint64_t count = 0;
  children.for_each([&](const DirectoryEntries::Entry& /*entry*/) { ++count; });
  return count;
}

void Lister::show(int directory, const Name& name, const std::string& path) {
  if (seen_++ < request_.offset || budget_.is_used_up()) return;
  wire::FileInfo info = describe_entry(directory, name.text.data());
  info.path.reserve(path.size() + name.text.size());
  info.path.append(path).append(name.text);
  if (!budget_.take(info)) return;
  const bool is_counted = info.kind == wire::FileKind::Directory;
  listing_.entries.push_back(
      {std::move(info), is_counted ? count_children(directory, name.text) : 0});
}

// Lists a directory of the deepest level, whose entries follow each other.
void Lister::show_last(int directory, const std::vector<Name>& names, const std::string& path) {
  const std::uint64_t skipped =
      std::min<std::uint64_t>(request_.offset - std::min(request_.offset, seen_), names.size());
  seen_ += names.size();
  std::vector<const char*> shown;
  for (std::size_t i = skipped; i < names.size() && shown.size() < budget_.left(); ++i)
    shown.push_back(names[i].text.data());
  std::vector<wire::FileInfo> infos = describe_entries(directory, shown);
  for (std::size_t i = 0; i < infos.size(); ++i) {
    infos[i].path.append(path).append(names[skipped + i].text);
    if (!budget_.take(infos[i])) return;
    const bool is_counted = infos[i].kind == wire::FileKind::Directory;
    listing_.entries.push_back(
        {std::move(infos[i]), is_counted ? count_children(directory, shown[i]) : 0});
  }
}

bool Lister::list(int directory, const std::string& path, std::uint32_t depth,
                  std::shared_ptr<const IgnoreLevel> above) {
  if (deadline_.has_passed() || seen_ > kMostCounted) {
    listing_.is_partial = 1;
    return true;
  }
  std::shared_ptr<const IgnoreLevel> ignore = std::move(above);
  if (request_.includes_ignored == 0)
    ignore = read_ignore_level(directory, path.size(), std::move(ignore));
  if (levels_.size() < depth) levels_.emplace_back();
  Level& level = levels_[depth - 1];
  if (!read_names(directory, path, ignore.get(), level)) return false;
  if (depth == 1)
    listing_.entries.reserve(std::min<std::size_t>(level.names.size(), budget_.left()));
  for (const Name& name : level.names)
    ++(name.is_directory ? listing_.total_directories : listing_.total_files);
  if (depth >= std::min(request_.depth, kMostDepth)) {
    show_last(directory, level.names, path);
    return true;
  }
  for (const Name& name : level.names) {
    const bool descends = name.is_directory && name.text != ".git";
    const UniqueFd below(descends ? ::openat(directory, name.text.data(),
                                             O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                                  : -1);
    show(directory, name, path);
    if (!below) continue;
    (void)list(below.get(), fmt::format("{}{}/", path, name.text), depth + 1,
               ignore);  // gives up only at the top
  }
  return true;
}

}  // namespace

std::optional<ListReply> list_directory(const Place& place, const wire::ListDirectory& request,
                                        Effort effort) {
  if (!place.is_directory) {
    return wire::Refused{ErrorCode::InvalidArgument, "cannot list this", "the path is a file",
                         "name a directory, or read the file"};
  }
  if (effort == Effort::Small && request.depth > 1) return std::nullopt;
  Lister lister(request, effort);
  std::shared_ptr<const IgnoreLevel> above;
  if (request.includes_ignored == 0) above = read_levels_above(place.fd.get());
  if (::lseek(place.fd.get(), 0, SEEK_SET) != 0 ||
      !lister.list(place.fd.get(), "", 1, std::move(above))) {
    return std::nullopt;
  }
  return lister.take();
}

}  // namespace nutshell::init::search
