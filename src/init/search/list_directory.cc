#include "init/search/list_directory.h"

#include <dirent.h>
#include <fcntl.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "init/search/budget.h"
#include "init/search/directory_entries.h"
#include "init/search/ignore_rules.h"

namespace nutshell::init::search {
namespace {

constexpr std::uint32_t kUsualEntries = 1000;
constexpr std::uint32_t kMostDepth = 32;
constexpr std::size_t kMostIgnoredNames = 20;
constexpr std::size_t kSmallRecords = 200U << 10U;  // about 5 000 entries
constexpr std::uint64_t kMostCounted = 10'000'000;

struct Name {
  std::string text;
  bool is_directory = false;
};

bool comes_first(const Name& a, const Name& b) {
  if (a.is_directory != b.is_directory) return a.is_directory;
  return a.text < b.text;
}

class Lister {
 public:
  Lister(int root, const wire::ListDirectory& request, Effort effort)
      : root_(root),
        request_(request),
        effort_(effort),
        budget_(request.most_entries == 0 ? kUsualEntries : request.most_entries),
        deadline_(Deadline::in(kListingTime)) {}

  // False if it gave up.
  bool list(int directory, const std::string& path, std::uint32_t depth,
            std::shared_ptr<const IgnoreLevel> above);
  wire::Listing take() { return std::move(listing_); }

 private:
  bool read_names(int directory, const std::string& path, const IgnoreLevel* ignore,
                  std::vector<Name>& names);
  void leave_out(const std::string& path);
  void show(const std::string& path, bool has_its_entries_listed);
  std::uint64_t count_children(const std::string& path);

  int root_;
  const wire::ListDirectory& request_;
  Effort effort_;
  Budget budget_;
  Deadline deadline_;
  DirectoryEntries entries_;
  wire::Listing listing_;
  std::uint64_t seen_ = 0;
};

void Lister::leave_out(const std::string& path) {
  ++listing_.total_ignored;
  if (listing_.ignored.size() < kMostIgnoredNames) listing_.ignored.push_back(path);
}

bool Lister::read_names(int directory, const std::string& path, const IgnoreLevel* ignore,
                        std::vector<Name>& names) {
  const bool is_small = effort_ == Effort::Small;
  const auto is_whole =
      entries_.read(directory, is_small ? kSmallRecords : DirectoryEntries::kMostBytes);
  if (is_small && is_whole && !*is_whole) return false;
  if (!is_whole || !*is_whole) listing_.is_partial = 1;
  std::vector<std::string> left_out;
  entries_.for_each([&](const DirectoryEntries::Entry& entry) {
    const bool is_directory = entry.type == DT_DIR;
    const std::string whole = path + entry.name;
    const bool is_git = is_directory && entry.text() == ".git";
    const EntryKind kind = is_directory ? EntryKind::Directory : EntryKind::Other;
    const bool is_left_out =
        request_.includes_ignored == 0 && (is_git || is_ignored(ignore, whole, entry.text(), kind));
    if (is_left_out) left_out.push_back(whole);
    if (!is_left_out) names.push_back({entry.name, is_directory});
  });
  std::sort(left_out.begin(), left_out.end());
  for (const std::string& name : left_out)
    leave_out(name);
  std::sort(names.begin(), names.end(), comes_first);
  return true;
}

std::uint64_t Lister::count_children(const std::string& path) {
  const UniqueFd fd(::openat(root_, path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  DirectoryEntries children;
  if (!fd || !children.read(fd.get())) return 0;
  std::uint64_t count = 0;
  children.for_each([&](const DirectoryEntries::Entry& /*entry*/) { ++count; });
  return count;
}

void Lister::show(const std::string& path, bool has_its_entries_listed) {
  if (seen_++ < request_.offset || budget_.is_used_up()) return;
  wire::ListedEntry entry{describe_entry(root_, path), 0};
  if (!budget_.take(entry.info)) return;
  if (entry.info.kind == wire::FileKind::Directory && !has_its_entries_listed) {
    entry.children = count_children(path);
  }
  listing_.entries.push_back(std::move(entry));
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
  std::vector<Name> names;
  if (!read_names(directory, path, ignore.get(), names)) return false;
  const std::uint32_t deepest = std::min(request_.depth, kMostDepth);
  for (const Name& name : names) {
    const std::string whole = path + name.text;
    const bool descends = name.is_directory && depth < deepest && name.text != ".git";
    const UniqueFd below(descends ? ::openat(directory, name.text.c_str(),
                                             O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                                  : -1);
    ++(name.is_directory ? listing_.total_directories : listing_.total_files);
    show(whole, below.is_open());
    if (below) (void)list(below.get(), whole + "/", depth + 1, ignore);  // gives up only at the top
  }
  return true;
}

}  // namespace

std::optional<ListReply> list_directory(const Place& place, const wire::ListDirectory& request,
                                        Effort effort) {
  if (!place.is_directory) {
    return wire::Refused{"bad_argument", "cannot list this", "the path is a file",
                         "name a directory, or read the file"};
  }
  if (effort == Effort::Small && request.depth > 1) return std::nullopt;
  Lister lister(place.fd.get(), request, effort);
  std::shared_ptr<const IgnoreLevel> above;
  if (request.includes_ignored == 0) above = read_levels_above(place.fd.get());
  if (::lseek(place.fd.get(), 0, SEEK_SET) != 0 ||
      !lister.list(place.fd.get(), "", 1, std::move(above))) {
    return std::nullopt;
  }
  return lister.take();
}

}  // namespace nutshell::init::search
