#include "init/walk_conversation.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/beneath.h"
#include "base/file.h"
#include "init/paths.h"

namespace nutshell::init {
namespace {

constexpr std::size_t kBatchBytes = 48U << 10U;
// Each level holds a descriptor open; deeper trees are cut off there, and said to be.
constexpr std::size_t kMostLevels = 512;

}  // namespace

Result<std::unique_ptr<Conversation>> WalkConversation::open(std::uint32_t number,
                                                             const wire::Walk& request) {
  auto walk = std::make_unique<WalkConversation>();
  walk->number_ = number;
  walk->most_depth_ = request.most_depth;
  walk->window_ = std::max<std::uint64_t>(request.window, 2 * kBatchBytes);
  TRY(walk->enter(AT_FDCWD, request.path, ""));
  return walk;
}

Result<> WalkConversation::enter(int parent, const std::string& name, std::string path) {
  const auto links = parent == AT_FDCWD ? Links::Follow : Links::Refuse;
  UniqueFd fd = TRY(open_beneath(parent, name, O_RDONLY | O_DIRECTORY, 0, links));
  DIR* directory = ::fdopendir(fd.get());
  if (directory == nullptr) return syscall_failure("open", name);
  (void)fd.release();  // owned by the DIR from here on
  levels_.push_back({std::unique_ptr<DIR, CloseDirectory>(directory), std::move(path)});
  return {};
}

Result<> WalkConversation::receive(const wire::Frame& frame) {
  const auto consumed = TRY(wire::decode<wire::Consumed>(frame.payload));
  consumed_ = std::clamp(consumed.offset, consumed_, sent_);
  return {};
}

bool WalkConversation::take_next_entry(wire::Entries& batch, std::size_t& bytes) {
  Level& level = levels_.back();
  const dirent* entry = ::readdir(level.directory.get());  // NOLINT(concurrency-mt-unsafe)
  if (entry == nullptr) {
    levels_.pop_back();
    return !levels_.empty();
  }
  const std::string name = entry->d_name;
  if (!is_plain_name(name)) return true;
  const int directory = ::dirfd(level.directory.get());
  struct stat status {};
  if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return true;  // just removed
  wire::FileInfo info = describe(status, level.path + name);
  if (info.kind == wire::FileKind::Link) {
    std::array<char, 4096> target{};
    const ssize_t size = ::readlinkat(directory, name.c_str(), target.data(), target.size());
    if (size > 0) info.target.assign(target.data(), static_cast<std::size_t>(size));
  }
  bytes += info.path.size() + info.target.size() + 64;
  const bool descends = info.kind == wire::FileKind::Directory && levels_.size() < most_depth_ &&
                        levels_.size() < kMostLevels;
  const std::string path = info.path + "/";
  batch.entries.push_back(std::move(info));
  if (descends) (void)enter(directory, name, path);  // not ours to read: listed, not entered
  return true;
}

void WalkConversation::collect(wire::Entries& batch) {
  std::size_t bytes = 0;
  while (!levels_.empty() && bytes < kBatchBytes && take_next_entry(batch, bytes)) {
  }
}

std::optional<std::string_view> WalkConversation::ready() {
  if (!frame_.empty()) return frame_;
  if (sent_ - consumed_ >= window_) return std::nullopt;
  wire::Entries batch;
  collect(batch);
  if (batch.entries.empty()) {
    is_last_ = true;
    wire::append_frame(frame_, number_, wire::Done{});
    return frame_;
  }
  wire::append_frame(frame_, number_, std::move(batch));
  sent_ += frame_.size();
  return frame_;
}

void WalkConversation::sent() {
  frame_.clear();
  is_over_ = is_last_;
}

}  // namespace nutshell::init
