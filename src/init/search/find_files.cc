#include "init/search/find_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "init/files/paths.h"
#include "init/search/budget.h"
#include "init/search/glob.h"
#include "init/search/tree_walk.h"

namespace nutshell::init::search {
namespace {

constexpr std::uint32_t kUsualResults = 500;
constexpr std::size_t kMostKeptBytes = 128U << 20U;  // of one thread; then the page is partial

// With more results than this, a stat() of each would take longer than finding them: the time of
// the directory is used instead, which changes with every new, replaced or removed file.
constexpr std::uint64_t kMostAsked = 2000;

std::int64_t modified_ns(int directory, const char* name) {
  struct statx status {};
  constexpr int kFlags = AT_SYMLINK_NOFOLLOW | AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT | AT_EMPTY_PATH;
  if (::statx(directory, name, kFlags, STATX_MTIME, &status) != 0) return 0;  // just removed
  return status.stx_mtime.tv_sec * 1'000'000'000 + status.stx_mtime.tv_nsec;
}

// An entry, in the arena of the thread that found it.
struct FoundEntry {
  std::size_t name = 0;  // offset of the name, ended by NUL
  std::int64_t modified = 0;
};

struct FoundDirectory {
  std::string path;
  std::int64_t newest = 0;
  std::size_t first = 0;  // of its entries
  std::size_t count = 0;
};

class FindVisitor : public Visitor {
 public:
  FindVisitor(const wire::FindFiles& request, const GlobFilter& glob)
      : request_(request), glob_(glob) {}

  void enter(const WalkedDirectory& /*directory*/) override { is_fresh_ = true; }

  bool look(const WalkedDirectory& directory, const DirectoryEntries::Entry& entry) override {
    if (!is_of_kind(entry.type)) return false;
    const std::string_view name = entry.text();
    if (!glob_.accepts_all()) {
      path_.assign(directory.path).append(name);
      if (!glob_.accepts(path_, name)) return false;
    }
    ++total_;
    if (names_.size() + entries_.size() * sizeof(FoundEntry) > kMostKeptBytes) {
      is_full_ = true;
      return false;
    }
    if (is_fresh_) {
      directories_.push_back(
          {directory.path, modified_ns(directory.fd.get(), ""), entries_.size(), 0});
      is_fresh_ = false;
    }
    ++directories_.back().count;
    entries_.push_back({names_.size()});
    names_.append(name).push_back('\0');
    return false;
  }

  // Reads the time of each entry.
  void ask_times(int root) {
    for (FoundDirectory& directory : directories_) {
      directory.newest = std::numeric_limits<std::int64_t>::min();
      for (std::size_t i = directory.first; i < directory.first + directory.count; ++i) {
        entries_[i].modified = modified_ns(root, (directory.path + name(entries_[i])).c_str());
        directory.newest = std::max(directory.newest, entries_[i].modified);
      }
    }
  }

  // Sorts the newest first if the times are known, then by name.
  std::vector<FoundEntry> sorted_entries(const FoundDirectory& directory) const {
    const auto begin = entries_.begin() + static_cast<std::ptrdiff_t>(directory.first);
    std::vector<FoundEntry> sorted(begin, begin + static_cast<std::ptrdiff_t>(directory.count));
    std::sort(sorted.begin(), sorted.end(), [this](const FoundEntry& a, const FoundEntry& b) {
      if (a.modified != b.modified) return a.modified > b.modified;
      return std::string_view(name(a)) < std::string_view(name(b));
    });
    return sorted;
  }
  [[nodiscard]] const char* name(const FoundEntry& entry) const {
    return names_.data() + entry.name;
  }
  [[nodiscard]] const std::vector<FoundDirectory>& directories() const { return directories_; }
  [[nodiscard]] std::uint64_t total() const { return total_; }
  [[nodiscard]] bool is_full() const { return is_full_; }

 private:
  [[nodiscard]] bool is_of_kind(unsigned char type) const {
    if (request_.is_any_kind != 0) return true;
    switch (request_.kind) {
      case wire::FileKind::Regular:
        return type == DT_REG;
      case wire::FileKind::Directory:
        return type == DT_DIR;
      case wire::FileKind::Link:
        return type == DT_LNK;
      case wire::FileKind::Other:
        break;
    }
    return type != DT_REG && type != DT_DIR && type != DT_LNK;
  }

  const wire::FindFiles& request_;
  const GlobFilter& glob_;
  std::string path_;
  std::string names_;
  std::vector<FoundEntry> entries_;
  std::vector<FoundDirectory> directories_;
  std::uint64_t total_ = 0;
  bool is_fresh_ = false;
  bool is_full_ = false;
};

struct Group {
  const FindVisitor* owner = nullptr;
  const FoundDirectory* directory = nullptr;
};

std::vector<Group> sorted_groups(const std::vector<std::unique_ptr<FindVisitor>>& finders) {
  std::vector<Group> groups;
  for (const auto& finder : finders) {
    for (const FoundDirectory& directory : finder->directories())
      groups.push_back({finder.get(), &directory});
  }
  std::sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) {
    if (a.directory->newest != b.directory->newest)
      return a.directory->newest > b.directory->newest;
    return a.directory->path < b.directory->path;
  });
  return groups;
}

// Reads size and mode only for the entries of the page.
void write_page(int root, const std::vector<Group>& groups, const wire::FindFiles& request,
                wire::FindPage& page) {
  Budget budget(request.most_results == 0 ? kUsualResults : request.most_results);
  std::uint64_t skip = request.offset;
  for (const Group& group : groups) {
    if (skip >= group.directory->count) {
      skip -= group.directory->count;
      continue;
    }
    const std::vector<FoundEntry> entries = group.owner->sorted_entries(*group.directory);
    for (; skip < entries.size(); ++skip) {
      std::string path = group.directory->path + group.owner->name(entries[skip]);
      wire::FileInfo info = describe_entry(root, path.c_str());
      info.path = std::move(path);
      if (!budget.take(info)) return;
      page.found.push_back(std::move(info));
    }
    skip = 0;
  }
}

}  // namespace

std::variant<wire::FindPage, wire::Refused> find_files(Place place, const wire::FindFiles& request,
                                                       unsigned threads) {
  if (!place.is_directory) {
    return wire::Refused{ErrorCode::InvalidArgument, "cannot look for files here",
                         "the path is a file", "name the directory to look in"};
  }
  const auto glob = GlobFilter::parse(request.glob);
  if (!glob) {
    return wire::Refused{ErrorCode::InvalidArgument, "cannot use this glob", glob.error().message,
                         "use *, **, ?, [a-z] and {a,b}, as in **/*.{ts,tsx}"};
  }
  std::vector<std::unique_ptr<FindVisitor>> finders;
  std::vector<Visitor*> visitors;
  for (unsigned i = 0; i < std::max(1U, threads); ++i) {
    finders.push_back(std::make_unique<FindVisitor>(request, *glob));
    visitors.push_back(finders.back().get());
  }
  TreeWalk walk(UniqueFd(::fcntl(place.fd.get(), F_DUPFD_CLOEXEC, 0)),
                {request.includes_ignored != 0 ? Ignored::Included : Ignored::LeftOut, &*glob,
                 Deadline::in(kListingTime)});
  const WalkCounts counts = walk.run(visitors);
  wire::FindPage page;
  page.ignored = counts.ignored;
  page.scanned = counts.scanned;
  page.is_partial = counts.is_partial ? 1 : 0;
  for (const auto& finder : finders) {
    page.total += finder->total();
    if (finder->is_full()) page.is_partial = 1;
  }
  for (const auto& finder : finders) {
    if (page.total <= kMostAsked) finder->ask_times(place.fd.get());
  }
  write_page(place.fd.get(), sorted_groups(finders), request, page);
  return page;
}

}  // namespace nutshell::init::search
