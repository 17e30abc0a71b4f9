#include "base/beneath_walk.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <deque>

namespace nutshell {
namespace {

constexpr int kMostLinks = 40;                // as the kernel
constexpr int kMostTries = 100;               // for a name that changes between link and other
constexpr std::size_t kMostHeld = 64;         // directories that ".." can lead back to
constexpr std::size_t kMostText = 1U << 16U;  // bytes of a path with its links resolved

struct Step {
  std::string name;
  bool is_last = false;
};

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// All links of /proc name open objects, except these at its top.
bool is_plain_proc_link(std::string_view name, std::string_view target) {
  if (name == "self") return is_number(target);
  if (name == "mounts") return target == "self/mounts";
  return name == "net" && target == "self/net";
}

bool is_magic(int link, std::string_view name, std::string_view target) {
  struct statfs system {};
  if (::fstatfs(link, &system) != 0) return true;
  if (system.f_type == SECURITYFS_MAGIC) return true;
  return system.f_type == PROC_SUPER_MAGIC && !is_plain_proc_link(name, target);
}

class Walk {
 public:
  Walk(int directory, const std::string& path, Links links)
      : base_(directory), links_(links), rest_(path.substr(0, path.find('\0'))) {}

  // Returns 0, or the errno of the call that failed.
  int run(int flags, unsigned mode);
  UniqueFd take() { return std::move(found_); }

 private:
  [[nodiscard]] int here() const { return held_.empty() ? base_ : held_.back().get(); }

  int begin();
  [[nodiscard]] Step next() const;
  void skip(const std::string& name);
  int go_up();
  int go_down(const std::string& name);
  int finish(const std::string& name, int flags, unsigned mode);
  int finish_directory(const std::string& name, int flags);
  int open_here(int flags, unsigned mode);
  int follow(int link, const std::string& name);
  int open_top();
  void hold(UniqueFd directory);

  int base_;
  UniqueFd owned_base_;
  Links links_;
  std::string rest_;  // not walked yet
  std::deque<UniqueFd> held_;
  bool has_let_go_ = false;  // of the oldest held ones
  int followed_ = 0;
  UniqueFd found_;
};

void Walk::hold(UniqueFd directory) {
  held_.push_back(std::move(directory));
  if (held_.size() <= kMostHeld) return;
  held_.pop_front();
  has_let_go_ = true;
}

int Walk::open_top() {
  held_.clear();
  has_let_go_ = false;
  if (links_ != Links::Follow) return 0;
  owned_base_.reset(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  base_ = owned_base_.get();
  return owned_base_ ? 0 : errno;
}

// Chooses where to begin by the first letter of `rest_`.
int Walk::begin() {
  if (!rest_.starts_with('/')) return 0;
  if (links_ == Links::Refuse) return EXDEV;
  rest_.erase(0, std::min(rest_.find_first_not_of('/'), rest_.size()));
  if (rest_.empty()) rest_ = ".";
  return open_top();
}

Step Walk::next() const {
  const std::size_t end = std::min(rest_.find('/'), rest_.size());
  return {rest_.substr(0, end), end == rest_.size()};
}

// A slash at the end means the directory behind the links: it is treated as a last name ".".
void Walk::skip(const std::string& name) {
  rest_.erase(0, std::min(rest_.find_first_not_of('/', name.size()), rest_.size()));
  if (rest_.empty()) rest_ = ".";
}

int Walk::go_up() {
  if (!held_.empty()) {
    held_.pop_back();
    return 0;
  }
  if (has_let_go_) return ENAMETOOLONG;
  if (links_ == Links::Refuse) return EXDEV;
  if (links_ == Links::Confine) return 0;  // the directory is its own parent
  UniqueFd above(::openat(base_, "..", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!above) return errno;
  owned_base_ = std::move(above);
  base_ = owned_base_.get();
  return 0;
}

int Walk::follow(int link, const std::string& name) {
  if (links_ == Links::Refuse || ++followed_ > kMostLinks) return ELOOP;
  std::array<char, PATH_MAX> target;
  const ssize_t size = ::readlinkat(link, "", target.data(), target.size());
  if (size <= 0) return size == 0 ? ENOENT : errno;
  const std::string_view text(target.data(), static_cast<std::size_t>(size));
  if (is_magic(link, name, text)) return ELOOP;
  std::string whole(text);
  if (rest_.size() > name.size()) whole += rest_.substr(name.size());
  if (whole.size() > kMostText) return ENAMETOOLONG;
  rest_ = std::move(whole);
  return begin();
}

// Takes one name that is not the last.
int Walk::go_down(const std::string& name) {
  UniqueFd opened(::openat(here(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (!opened || ::fstat(opened.get(), &status) != 0) return errno;
  if (S_ISLNK(status.st_mode)) return follow(opened.get(), name);
  if (!S_ISDIR(status.st_mode)) return ENOTDIR;
  hold(std::move(opened));
  skip(name);
  return 0;
}

int Walk::open_here(int flags, unsigned mode) {
  found_.reset(::openat(here(), ".", flags | O_CLOEXEC, mode));
  return found_ ? 0 : errno;
}

// Opens the last name with the caller's flags. A link is not followed but replaced by its target,
// and the walk goes on.
int Walk::finish(const std::string& name, int flags, unsigned mode) {
  if ((flags & O_DIRECTORY) != 0) return finish_directory(name, flags);
  const bool takes_link = (flags & O_PATH) != 0 && (flags & O_NOFOLLOW) != 0;
  for (int tries = 0; tries < kMostTries; ++tries) {
    UniqueFd opened(::openat(here(), name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC, mode));
    const int error = opened ? 0 : errno;
    const bool may_be_link = opened ? (flags & O_PATH) != 0 : error == ELOOP || error == ENOTDIR;
    if (!may_be_link || (opened && takes_link)) {
      found_ = std::move(opened);
      return error;
    }
    UniqueFd link(opened
                      ? std::move(opened)
                      : UniqueFd(::openat(here(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC)));
    struct stat status {};
    if (!link || ::fstat(link.get(), &status) != 0) return errno;
    if (S_ISLNK(status.st_mode)) {
      return (flags & O_NOFOLLOW) != 0 ? ELOOP : follow(link.get(), name);
    }
    if (error == 0) {
      found_ = std::move(link);
      return 0;
    }
    if (error != ELOOP) return error;  // else it was a link a moment ago
  }
  return ELOOP;
}

// gVisor follows a link opened with O_DIRECTORY even with O_NOFOLLOW: so the name is stat'ed first,
// and the opened file has to be the same.
int Walk::finish_directory(const std::string& name, int flags) {
  for (int tries = 0; tries < kMostTries; ++tries) {
    const UniqueFd seen(::openat(here(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat wanted {};
    if (!seen || ::fstat(seen.get(), &wanted) != 0) return errno;
    if (S_ISLNK(wanted.st_mode))
      return (flags & O_NOFOLLOW) != 0 ? ELOOP : follow(seen.get(), name);
    if (!S_ISDIR(wanted.st_mode)) return ENOTDIR;
    UniqueFd opened(::openat(here(), name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC));
    struct stat status {};
    if (opened && ::fstat(opened.get(), &status) != 0) return errno;
    if (opened && status.st_dev == wanted.st_dev && status.st_ino == wanted.st_ino) {
      found_ = std::move(opened);
      return 0;
    }
    if (!opened && errno != ELOOP && errno != ENOTDIR && errno != ENOENT) return errno;
  }
  return ELOOP;
}

int Walk::run(int flags, unsigned mode) {
  if (rest_.empty()) return ENOENT;
  int error = begin();
  while (error == 0 && !found_) {
    const Step step = next();
    const bool is_dots = step.name == "." || step.name == "..";
    if (!is_dots) {
      error = step.is_last ? finish(step.name, flags, mode) : go_down(step.name);
      continue;
    }
    if (step.name == "..") error = go_up();
    if (error != 0) break;
    if (step.is_last) return open_here(flags, mode);
    skip(step.name);
  }
  return error;
}

}  // namespace

Result<UniqueFd> walk_beneath(int directory, const std::string& path, int flags, unsigned mode,
                              Links links) {
  Walk walk(directory, path, links);
  const int error = walk.run(flags, mode);
  if (error != 0) return syscall_failure(error, "open", path);
  return walk.take();
}

}  // namespace nutshell
