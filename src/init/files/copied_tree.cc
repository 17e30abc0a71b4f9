#include "init/files/copied_tree.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "init/files/regular_file.h"

namespace nutshell::init {
namespace {

// The resolution of file times: a file written just before the copy may have been written again
// with the same time.
constexpr std::int64_t kClockStep = 20'000'000;

std::int64_t nanoseconds(const timespec& time) {
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

bool has_same_content(const Image& before, const Present& now) {
  if (!before.content || !now.image.content) return before.content == now.image.content;
  return static_cast<const MemoryContent&>(*before.content).bytes() ==
         static_cast<const MemoryContent&>(*now.image.content).bytes();
}

}  // namespace

// Compares the tree as it is now with the copy.
class CopiedTree::Comparison {
 public:
  explicit Comparison(const CopiedTree& copy) : copy_(copy) {}

  Result<std::vector<PathChange>> run() {
    for (const std::string& root : copy_.roots_)
      TRY(each_entry(AT_FDCWD, root, visitor(root)));
    for (const auto& [path, entry] : copy_.entries_) {
      if (!seen_.contains(path)) changes_.push_back({path, entry.image, {}, {}});
    }
    return std::move(changes_);
  }

 private:
  std::function<Result<>(int, const std::string&)> visitor(const std::string& parent) {
    return [this, parent](int opened, const std::string& name) {
      return visit(opened, name, parent + "/" + name);
    };
  }

  Result<> visit(int directory, const std::string& name, const std::string& path) {
    struct stat status {};
    if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return {};
    if (image_of(status).info.kind == wire::FileKind::Other) return {};
    const auto found = copy_.entries_.find(path);
    const bool is_new = found == copy_.entries_.end();
    if (!is_new) seen_.insert(path);
    if (is_new || !is_untouched(found->second, status)) {
      TRY(compare(directory, name, {path, is_new ? Image() : found->second.image, {}, {}}));
    }
    if (!S_ISDIR(status.st_mode) || levels_ >= kMostDepth) return {};
    ++levels_;
    auto walked = each_entry(directory, name, visitor(path));
    --levels_;
    return walked;
  }

  [[nodiscard]] bool is_untouched(const Entry& before, const struct stat& now) const {
    return is_same_file(before.status, now) &&
           nanoseconds(now.st_ctim) + kClockStep < copy_.copied_at_;
  }

  Result<> compare(int directory, const std::string& name, PathChange change) {
    Budget budget;
    Present now = TRY(look_at_entry(directory, name, budget));
    const bool is_same =
        has_same_shape(change.before, now.image) && has_same_content(change.before, now);
    if (is_same || !now.image.is_there()) return {};
    change.after = std::move(now.image);
    change.after_version = std::move(now.version);
    kept_after_ += change.after.content ? change.after.content->bytes_kept() : 0;
    // The new content needs no copy: it is on disk.
    if (kept_after_ > ChangeJournal::kMostAfterBytes) change.after.content.reset();
    changes_.push_back(std::move(change));
    return {};
  }

  const CopiedTree& copy_;
  std::set<std::string> seen_;
  std::vector<PathChange> changes_;
  std::uint64_t kept_after_ = 0;
  int levels_ = 0;
};

Result<CopiedTree> CopiedTree::copy(const std::vector<std::string>& roots, Budget& budget) {
  CopiedTree tree;
  tree.roots_ = roots;
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  tree.copied_at_ = nanoseconds(now);
  const std::uint64_t before = budget.bytes;
  for (const std::string& root : roots) {
    TRY(each_entry(AT_FDCWD, root, [&](int opened, const std::string& name) -> Result<> {
      std::vector<Captured> found;
      TRY(capture_tree({opened, name, fmt::format("{}/{}", root, name)},
                       {budget, SpecialFiles::LeftOut}, found));
      for (Captured& entry : found)
        tree.entries_[entry.path] = {entry.status, std::move(entry.image)};
      return {};
    }));
  }
  tree.bytes_ = before - budget.bytes;
  return tree;
}

Result<std::vector<PathChange>> CopiedTree::changes() const {
  return Comparison(*this).run();
}

OpenChanges::Begun OpenChanges::begin(std::string label, const std::vector<std::string>& roots,
                                      std::weak_ptr<const void> caller) {
  if (open_.size() >= kMost) open_.erase(open_.begin());
  Budget budget;
  for (const Open& other : open_)
    budget.bytes -= std::min(budget.bytes, other.tree.bytes());
  auto tree = CopiedTree::copy(roots, budget);
  if (!tree) return {{}, tree.error().message};
  open_.push_back({++last_number_, std::move(label), std::move(*tree), std::move(caller)});
  return {fmt::format("c{}", last_number_), {}};
}

std::string OpenChanges::abandoned() const {
  for (const Open& open : open_) {
    if (open.caller.expired()) return fmt::format("c{}", open.number);
  }
  return {};
}

Attempt<OpenChanges::Ended> OpenChanges::end(const std::string& id) {
  const auto found = std::find_if(open_.begin(), open_.end(), [&](const Open& open) {
    return id == fmt::format("c{}", open.number);
  });
  if (found == open_.end()) {
    return refuse(ErrorCode::Expired,
                  fmt::format("{} is not a change that was begun.", printable(id)),
                  "It was ended already, or given up for newer ones.");
  }
  const Open open = std::move(*found);
  open_.erase(found);
  auto paths = open.tree.changes();
  if (!paths) return refuse(paths.error(), open.label);
  return Ended{open.label, std::move(*paths)};
}

}  // namespace nutshell::init
