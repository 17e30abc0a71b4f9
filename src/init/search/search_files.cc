#include "init/search/search_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <string>

#include "base/beneath.h"
#include "init/search/file_search.h"
#include "init/search/file_types.h"
#include "init/search/glob.h"
#include "init/search/matcher.h"
#include "init/search/tree_walk.h"

namespace nutshell::init::search {
namespace {

using std::chrono::milliseconds;

constexpr std::uint32_t kUsualMatches = 250;
constexpr std::uint32_t kMostMatches = 10'000;
constexpr std::uint64_t kMostOffset = 1'000'000;
constexpr std::uint32_t kUsualLineBytes = 500;
constexpr std::uint32_t kMostContext = 100;
constexpr std::uint32_t kUsualTimeoutMs = 10'000;
constexpr std::uint32_t kMostTimeoutMs = 600'000;
constexpr std::size_t kFileOverhead = 16;
constexpr std::chrono::microseconds kShortTime{300};  // about the cost of a worker process
constexpr std::uint64_t kShortFile = 128U << 10U;
constexpr std::size_t kShortRecords = 16U << 10U;  // some hundred entries
constexpr std::uint64_t kAnyFile = std::numeric_limits<std::uint64_t>::max();

struct Found {
  std::string path;
  std::uint64_t matches = 0;
};

bool comes_first(const Found& a, const Found& b) {
  return a.path < b.path;
}

struct Filters {
  GlobFilter glob;
  GlobFilter type;
};

// The bounds of a search.
struct Means {
  unsigned threads = 1;
  Deadline deadline = Deadline::never();
  // The answer is partial if a file, or the records of a directory, are longer.
  std::uint64_t most_file_bytes = kAnyFile;
  std::size_t most_record_bytes = DirectoryEntries::kMostBytes;
};

bool is_longer(int file, std::uint64_t most) {
  struct stat status {};
  return most != kAnyFile &&
         (::fstat(file, &status) != 0 || static_cast<std::uint64_t>(status.st_size) > most);
}

// The results of one thread. Every file that is kept has a match, so a page that begins behind
// `offset` matches lies within the first offset + most files: the others are only counted.
class SearchVisitor : public Visitor {
 public:
  SearchVisitor(std::unique_ptr<Matcher> matcher, const Filters& filters, std::size_t most_kept,
                const Means& means)
      : matcher_(std::move(matcher)), filters_(filters), most_kept_(most_kept), means_(means) {}

  bool look(const WalkedDirectory& directory, const DirectoryEntries::Entry& entry) override {
    if (entry.type != DT_REG) return false;
    const std::string_view name = entry.text();
    if (!filters_.type.accepts(name, name)) return false;
    if (filters_.glob.accepts_all()) return true;
    path_.assign(directory.path).append(name);
    return filters_.glob.accepts(path_, name);
  }

  void take(const WalkedDirectory& directory, const char* name) override {
    const UniqueFd file(::openat(directory.fd.get(), name,
                                 O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (file) search(file.get(), directory.path, name);
  }

  void search(int file, const std::string& directory, const char* name) {
    if (is_longer(file, means_.most_file_bytes)) {
      page_.is_partial = 1;
      return;
    }
    const FileCount count = count_matches(file, *matcher_, window_, means_.deadline);
    page_.scanned_bytes += count.bytes;
    page_.skipped_binary += count.is_binary ? 1 : 0;
    if (count.is_partial) page_.is_partial = 1;
    if (count.matches == 0) return;
    page_.total_matches += count.matches;
    page_.total_files += 1;
    found_.push_back({directory + name, count.matches});
    if (found_.size() < 2 * most_kept_) return;
    const auto end = found_.begin() + static_cast<std::ptrdiff_t>(most_kept_);
    std::nth_element(found_.begin(), end, found_.end(), comes_first);
    found_.erase(end, found_.end());
  }

  // Adds the counts of this thread to the sum.
  void hand_over(wire::SearchPage& page, std::vector<Found>& found) {
    page.scanned_bytes += page_.scanned_bytes;
    page.skipped_binary += page_.skipped_binary;
    page.total_matches += page_.total_matches;
    page.total_files += page_.total_files;
    page.is_partial = page.is_partial != 0 || page_.is_partial != 0 ? 1 : 0;
    std::move(found_.begin(), found_.end(), std::back_inserter(found));
  }
  [[nodiscard]] const Matcher& matcher() const { return *matcher_; }

 private:
  std::unique_ptr<Matcher> matcher_;
  const Filters& filters_;
  std::size_t most_kept_;
  Means means_;
  LineWindow window_;
  std::string path_;
  wire::SearchPage page_;  // only its sums
  std::vector<Found> found_;
};

wire::Refused refuse(const std::string& what, const std::string& why, const std::string& next) {
  return {ErrorCode::InvalidArgument, what, why, next};
}

wire::Search with_bounds(wire::Search request) {
  if (request.most_matches == 0) request.most_matches = kUsualMatches;
  if (request.most_line_bytes == 0) request.most_line_bytes = kUsualLineBytes;
  if (request.most_bytes == 0) request.most_bytes = wire::kMostPageBytes;
  if (request.timeout_ms == 0) request.timeout_ms = kUsualTimeoutMs;
  request.most_matches = std::min(request.most_matches, kMostMatches);
  request.most_bytes = std::min(request.most_bytes, wire::kMostPageBytes);
  request.most_line_bytes = std::clamp(request.most_line_bytes, 16U, request.most_bytes / 2 + 16);
  request.context = std::min(request.context, kMostContext);
  request.timeout_ms = std::min(request.timeout_ms, kMostTimeoutMs);
  return request;
}

// Fills the page from the files of all threads, in order of their paths.
class PageWriter {
 public:
  PageWriter(const Place& place, const Matcher& matcher, const wire::Search& request)
      : place_(place), matcher_(matcher), request_(request), room_(request.most_bytes) {}

  void write(const std::vector<Found>& found, wire::SearchPage& page) {
    std::uint64_t skip = request_.offset;
    std::uint64_t left = request_.most_matches;
    for (const Found& file : found) {
      if (left == 0 || room_ == 0) return;
      const std::uint64_t units = request_.mode == wire::SearchMode::Lines ? file.matches : 1;
      if (skip >= units) {
        skip -= units;
        continue;
      }
      const std::uint64_t taken = take(file, skip, left, page);
      if (taken == 0 && room_ == 0) return;
      left -= std::min(left, taken);
      skip = 0;
    }
  }

 private:
  std::uint64_t take(const Found& file, std::uint64_t skip, std::uint64_t left,
                     wire::SearchPage& page) {
    const std::size_t cost = file.path.size() + kFileOverhead;
    if (cost > room_ && !page.files.empty()) {
      room_ = 0;
      return 0;
    }
    room_ -= std::min(cost, room_);
    wire::SearchedFile shown{file.path, file.matches, {}};
    std::uint64_t taken = 1;
    if (request_.mode == wire::SearchMode::Lines) {
      taken = take_lines(file, {skip, left, request_.context, request_.most_line_bytes}, shown);
    }
    if (taken > 0) page.files.push_back(std::move(shown));
    return taken;
  }

  std::uint64_t take_lines(const Found& file, const Excerpt& excerpt, wire::SearchedFile& shown) {
    UniqueFd fd;
    if (place_.is_directory) {
      auto opened = open_beneath(place_.fd.get(), file.path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0,
                                 Links::Refuse);
      if (!opened) return 0;  // removed since it was counted
      fd = std::move(*opened);
    } else if (::lseek(place_.fd.get(), 0, SEEK_SET) != 0) {
      return 0;
    }
    const std::uint64_t wanted = std::min(excerpt.take, file.matches - excerpt.skip);
    const std::uint64_t taken = take_excerpt(fd ? fd.get() : place_.fd.get(), matcher_, window_,
                                             excerpt, {shown.lines, room_});
    if (taken < wanted) room_ = 0;  // full: the next page begins in this file
    return taken;
  }

  const Place& place_;
  const Matcher& matcher_;
  const wire::Search& request_;
  LineWindow window_;
  std::size_t room_;
};

std::variant<Filters, wire::Refused> filters_for(const wire::Search& request) {
  Filters filters;
  auto glob = GlobFilter::parse(request.glob);
  if (!glob) {
    return refuse("cannot use this glob", glob.error().message,
                  "use *, **, ?, [a-z] and {a,b}, as in **/*.{ts,tsx}");
  }
  filters.glob = std::move(*glob);
  if (request.file_type.empty()) return filters;
  const std::vector<std::string> patterns = globs_of_type(request.file_type);
  auto type = GlobFilter::any_of(patterns);
  if (!type || patterns.empty()) {
    return refuse(fmt::format("no file type '{}'", request.file_type), "known: " + known_types(),
                  "name one of these, or use a glob");
  }
  filters.type = std::move(*type);
  return filters;
}

// One per thread, each with its own expression.
Result<std::vector<std::unique_ptr<SearchVisitor>>> make_searchers(const wire::Search& request,
                                                                   const Filters& filters,
                                                                   const Means& means) {
  const std::size_t most_kept = static_cast<std::size_t>(request.offset) + request.most_matches;
  std::vector<std::unique_ptr<SearchVisitor>> searchers;
  for (unsigned i = 0; i < means.threads; ++i) {
    searchers.push_back(
        std::make_unique<SearchVisitor>(TRY(Matcher::compile(request)), filters, most_kept, means));
  }
  return searchers;
}

WalkCounts walk_tree(const Place& place, const wire::Search& request, const GlobFilter& glob,
                     const std::vector<std::unique_ptr<SearchVisitor>>& searchers,
                     const Means& means) {
  std::vector<Visitor*> visitors;
  visitors.reserve(searchers.size());
  for (const auto& searcher : searchers)
    visitors.push_back(searcher.get());
  TreeWalk walk(UniqueFd(::fcntl(place.fd.get(), F_DUPFD_CLOEXEC, 0)),
                {request.includes_ignored != 0 ? Ignored::Included : Ignored::LeftOut, &glob,
                 means.deadline, means.most_record_bytes});
  return walk.run(visitors);
}

SearchReply search_with(const Place& place, const wire::Search& request, const Means& means) {
  auto filters = filters_for(request);
  if (auto* refused = std::get_if<wire::Refused>(&filters)) return std::move(*refused);
  const Filters& chosen = std::get<Filters>(filters);
  if (request.offset > kMostOffset) {
    return refuse("cannot skip that many matches", fmt::format("at most {}", kMostOffset),
                  "narrow the search with a path, a glob or a longer pattern");
  }
  const auto searchers = make_searchers(request, chosen, means);
  if (!searchers) {
    return refuse("cannot read this pattern", searchers.error().message,
                  "write it as RE2 takes it, or search for it as literal text");
  }
  wire::SearchPage page;
  if (place.is_directory) {
    const WalkCounts counts = walk_tree(place, request, chosen.glob, *searchers, means);
    page.ignored = counts.ignored;
    page.is_partial = counts.is_partial ? 1 : 0;
  } else {
    searchers->front()->search(place.fd.get(), "", "");
  }
  std::vector<Found> found;
  for (const auto& searcher : *searchers)
    searcher->hand_over(page, found);
  std::sort(found.begin(), found.end(), comes_first);
  PageWriter(place, searchers->front()->matcher(), request).write(found, page);
  return page;
}

}  // namespace

SearchReply search_files(const Place& place, wire::Search request, unsigned threads) {
  request = with_bounds(std::move(request));
  const Deadline deadline = Deadline::in(milliseconds(request.timeout_ms));
  return search_with(place, request, {place.is_directory ? std::max(1U, threads) : 1, deadline});
}

std::optional<SearchReply> search_few_files(const Place& place, wire::Search request) {
  request = with_bounds(std::move(request));
  // Compiling an expression takes memory and time.
  if (!Matcher::is_plain_text(request)) return std::nullopt;
  const Deadline deadline =
      Deadline::in(std::min<Clock::duration>(kShortTime, milliseconds(request.timeout_ms)));
  SearchReply reply = search_with(place, request, {1, deadline, kShortFile, kShortRecords});
  const auto* page = std::get_if<wire::SearchPage>(&reply);
  const bool is_whole = page == nullptr || page->is_partial == 0;
  if (is_whole) return reply;
  // The caller searches again from the beginning.
  (void)::lseek(place.fd.get(), 0, SEEK_SET);
  return std::nullopt;
}

}  // namespace nutshell::init::search
