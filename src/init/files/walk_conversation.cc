#include "init/files/walk_conversation.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/beneath.h"
#include "base/file.h"
#include "init/files/paths.h"

namespace nutshell::init {
namespace {

constexpr std::size_t kBatchBytes = 48U << 10U;
// Each level holds a descriptor open; deeper directories are left out, and the answer says so.
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
  std::unique_ptr<DIR, CloseDirectory> directory(::fdopendir(fd.get()));
  if (!directory) return syscall_failure("open", name);
  (void)fd.release();  // owned by the DIR from here on
  levels_.push_back({std::move(directory), std::move(path)});
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
  if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
    return true;  // just removed
  wire::FileInfo info = describe(status, level.path + name);
  if (info.kind == wire::FileKind::Link) info.target = read_link(directory, name);
  bytes += info.path.size() + info.target.size() + 64;
  const bool is_directory = info.kind == wire::FileKind::Directory;
  const std::string path = info.path;
  batch.entries.push_back(std::move(info));
  if (is_directory) descend(directory, name, path);
  return true;
}

void WalkConversation::descend(int parent, const std::string& name, const std::string& path) {
  if (levels_.size() >= most_depth_) return;
  if (levels_.size() >= kMostLevels) {
    const auto message = fmt::format("{}: more than {} directories deep", path, kMostLevels);
    return leave_out({ErrorCode::ResourceExhausted, message});
  }
  auto entered = enter(parent, name, path + "/");
  const bool was_removed = !entered && entered.error().code == ErrorCode::NotFound;
  if (!entered && !was_removed)
    leave_out({entered.error().code, path + ": " + entered.error().message});
}

void WalkConversation::leave_out(Error reason) {
  if (left_out_++ == 0) first_left_out_ = std::move(reason);
}

void WalkConversation::finish() {
  is_last_ = true;
  if (left_out_ == 0) return wire::append_frame(frame_, number_, wire::Done{});
  wire::append_frame(
      frame_, number_,
      wire::Failed{first_left_out_.code,
                   fmt::format("{} directories were listed but not read, the first is {}",
                               left_out_, first_left_out_.message)});
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
    finish();
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
