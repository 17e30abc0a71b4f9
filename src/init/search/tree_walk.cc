#include "init/search/tree_walk.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <system_error>
#include <thread>

namespace nutshell::init::search {
namespace {

constexpr unsigned kMostThreads = 8;
constexpr unsigned kMostDepth = 512;  // each level may hold a descriptor
constexpr std::size_t kFilesPerTask = 24;

// File systems of the kernel: reading their files may block, or show init's own memory.
bool is_kernel_file_system(int fd) {
  constexpr std::array<long, 12> kMagics = {
      PROC_SUPER_MAGIC,   SYSFS_MAGIC,         DEBUGFS_MAGIC,      TRACEFS_MAGIC,
      CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC, DEVPTS_SUPER_MAGIC, SECURITYFS_MAGIC,
      BPF_FS_MAGIC,       SELINUX_MAGIC,       PSTOREFS_MAGIC,     EFIVARFS_MAGIC};
  struct statfs system {};
  if (::fstatfs(fd, &system) != 0) return true;
  return std::find(kMagics.begin(), kMagics.end(), system.f_type) != kMagics.end();
}

int open_plain(int parent, const char* name, std::uint64_t resolve) {
  open_how how{};
  how.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  how.resolve = resolve;
  return static_cast<int>(::syscall(SYS_openat2, parent, name, &how, sizeof how));
}

// Asks for the type of the file system only at a mount point, or if the kernel does not tell what
// is one.
UniqueFd open_directory(int parent, const char* name) {
  UniqueFd fd(open_plain(parent, name, RESOLVE_NO_XDEV));
  if (fd || (errno != EXDEV && errno != ENOSYS)) return fd;
  fd.reset(::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (fd && is_kernel_file_system(fd.get())) {
    fd.reset();
    errno = ENOENT;
  }
  return fd;
}

bool brings_rules(const char* name) {
  return std::strcmp(name, ".gitignore") == 0 || std::strcmp(name, ".ignore") == 0 ||
         std::strcmp(name, ".rgignore") == 0 || std::strcmp(name, ".git") == 0;
}

}  // namespace

struct TreeWalk::Worker {
  Visitor& visitor;
  WalkCounts counts;
  DirectoryEntries entries;
  std::vector<Task> fresh;  // found by the present task
  std::string path;         // scratch
  std::string names;        // of wanted files, not yet a task
  std::size_t name_count = 0;
};

TreeWalk::TreeWalk(UniqueFd root, Plan plan) : plan_(plan), root_(std::move(root)) {}

WalkCounts TreeWalk::run(const std::vector<Visitor*>& visitors) {
  auto root = std::make_shared<WalkedDirectory>();
  root->fd = std::move(root_);
  if (plan_.ignored == Ignored::LeftOut) root->ignore = read_levels_above(root->fd.get());
  tasks_.push_back({std::move(root), "", false});
  unfinished_ = 1;
  std::vector<Worker> workers;
  workers.reserve(visitors.size());
  for (Visitor* visitor : visitors)
    workers.push_back({*visitor, {}, {}, {}, {}, {}, 0});
  // Starts other threads only when there is work for two.
  while (tasks_.size() == 1)
    do_next_task(workers.front());
  const bool has_more = !tasks_.empty();
  std::vector<std::thread> threads;
  for (std::size_t i = 1; has_more && i < workers.size(); ++i) {
    try {
      threads.emplace_back([this, &worker = workers[i]] { work(worker); });
    } catch (const std::system_error&) {
      break;  // at the sandbox's process limit: goes on with the threads there are
    }
  }
  work(workers.front());
  for (std::thread& thread : threads)
    thread.join();
  WalkCounts sum;
  for (const Worker& worker : workers) {
    sum.ignored += worker.counts.ignored;
    sum.scanned += worker.counts.scanned;
    sum.is_partial = sum.is_partial || worker.counts.is_partial;
  }
  return sum;
}

bool TreeWalk::next_task(Task& task) {
  std::unique_lock lock(mutex_);
  ++waiting_;
  changed_.wait(lock, [this] { return !tasks_.empty() || unfinished_ == 0; });
  --waiting_;
  if (tasks_.empty()) return false;
  task = std::move(tasks_.back());
  tasks_.pop_back();
  return true;
}

void TreeWalk::queue(std::vector<Task>& fresh) {
  if (fresh.empty()) return;
  const std::lock_guard lock(mutex_);
  unfinished_ += fresh.size();
  for (Task& task : fresh)
    tasks_.push_back(std::move(task));
  fresh.clear();
  if (waiting_ > 0) changed_.notify_all();
}

void TreeWalk::finish_task() {
  const std::lock_guard lock(mutex_);
  if (--unfinished_ == 0) changed_.notify_all();
}

bool TreeWalk::do_next_task(Worker& worker) {
  Task task;
  if (!next_task(task)) return false;
  if (plan_.deadline.has_passed()) {
    worker.counts.is_partial = true;
  } else if (task.is_files) {
    take_files(worker, *task.directory, task.names);
  } else {
    const Directory directory =
        task.names.empty() ? task.directory : open_below(worker, *task.directory, task.names);
    if (directory) visit(worker, directory);
  }
  task.directory.reset();
  queue(worker.fresh);
  finish_task();
  return true;
}

void TreeWalk::work(Worker& worker) {
  while (do_next_task(worker)) {
  }
}

TreeWalk::Directory TreeWalk::open_below(Worker& worker, const WalkedDirectory& parent,
                                         const std::string& name) {
  if (parent.depth >= kMostDepth) {
    worker.counts.is_partial = true;
    return nullptr;
  }
  UniqueFd fd = open_directory(parent.fd.get(), name.c_str());
  if (!fd) {
    // Skips a directory that was removed meanwhile or that init may not read.
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) worker.counts.is_partial = true;
    return nullptr;
  }
  auto directory = std::make_shared<WalkedDirectory>();
  directory->fd = std::move(fd);
  directory->path.reserve(parent.path.size() + name.size() + 1);
  directory->path.append(parent.path).append(name).append(1, '/');
  directory->ignore = parent.ignore;
  directory->depth = parent.depth + 1;
  return directory;
}

void TreeWalk::visit(Worker& worker, const Directory& directory) {
  const auto is_whole = worker.entries.read(directory->fd.get(), plan_.most_record_bytes);
  if (!is_whole) return;
  if (!*is_whole) worker.counts.is_partial = true;
  if (plan_.ignored == Ignored::LeftOut) read_rules(worker, *directory);
  worker.visitor.enter(*directory);
  worker.path = directory->path;
  worker.entries.for_each(
      [&](const DirectoryEntries::Entry& entry) { sort_entry(worker, directory, entry); });
  // Queues work for other threads before it does the rest itself.
  const std::string rest = std::move(worker.names);
  worker.names.clear();
  worker.name_count = 0;
  queue(worker.fresh);
  take_files(worker, *directory, rest);
}

// Looks among the entries, which costs less than system calls for files that are mostly missing.
void TreeWalk::read_rules(Worker& worker, WalkedDirectory& directory) {
  bool has_rules = false;
  worker.entries.for_each([&](const DirectoryEntries::Entry& entry) {
    has_rules = has_rules || (entry.name[0] == '.' && brings_rules(entry.name));
  });
  if (!has_rules) return;
  directory.ignore =
      read_ignore_level(directory.fd.get(), directory.path.size(), std::move(directory.ignore));
}

void TreeWalk::sort_entry(Worker& worker, const Directory& directory,
                          const DirectoryEntries::Entry& entry) {
  if (entry.type == DT_WHT) return;
  ++worker.counts.scanned;
  const bool is_directory = entry.type == DT_DIR;
  const std::string_view name = entry.text();
  if (is_directory && name == ".git") {
    ++worker.counts.ignored;
    return;
  }
  worker.path.resize(directory->path.size());
  worker.path += name;
  const EntryKind kind = is_directory ? EntryKind::Directory : EntryKind::Other;
  if (directory->ignore && is_ignored(directory->ignore.get(), worker.path, name, kind)) {
    ++worker.counts.ignored;
    return;
  }
  if (is_directory && plan_.pruning != nullptr && plan_.pruning->prunes(worker.path, name)) return;
  const bool is_wanted = worker.visitor.look(*directory, entry);
  if (is_directory) {
    worker.fresh.push_back({directory, std::string(name), false});
    return;
  }
  if (!is_wanted) return;
  worker.names.append(name).push_back('\0');
  if (++worker.name_count < kFilesPerTask) return;
  worker.fresh.push_back({directory, std::move(worker.names), true});
  worker.names.clear();
  worker.name_count = 0;
}

void TreeWalk::take_files(Worker& worker, const WalkedDirectory& directory,
                          const std::string& names) {
  for (std::size_t at = 0; at < names.size(); at += std::strlen(names.data() + at) + 1) {
    if (plan_.deadline.has_passed()) {
      worker.counts.is_partial = true;
      return;
    }
    worker.visitor.take(directory, names.data() + at);
  }
}

unsigned walk_threads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::clamp(static_cast<unsigned>(CPU_COUNT(&set)), 1U, kMostThreads);
}

}  // namespace nutshell::init::search
