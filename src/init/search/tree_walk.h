// Visits a tree with several threads. Does not follow symbolic links, and does not enter /proc and
// its like, .git, and directories that the ignore rules leave out.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.h"
#include "base/unique_fd.h"
#include "init/search/directory_entries.h"
#include "init/search/glob.h"
#include "init/search/ignore_rules.h"

namespace nutshell::init::search {

enum class Ignored { LeftOut, Included };

struct WalkedDirectory {
  UniqueFd fd;
  std::string path;  // below the root: empty, or ending in a slash
  std::shared_ptr<const IgnoreLevel> ignore;
  unsigned depth = 0;
};

struct WalkCounts {
  std::uint64_t ignored = 0;  // entries, one for a whole directory
  std::uint64_t scanned = 0;  // entries looked at
  bool is_partial = false;
};

// One per thread; its results are read after the walk.
class Visitor {
 public:
  virtual ~Visitor() = default;
  // Called before a directory is visited.
  virtual void enter(const WalkedDirectory& /*directory*/) {}
  // Called for each entry, also directories; returns true for a file whose content is wanted.
  virtual bool look(const WalkedDirectory& directory, const DirectoryEntries::Entry& entry) = 0;
  // Called for a file that was wanted; perhaps in another thread than look().
  virtual void take(const WalkedDirectory& /*directory*/, const char* /*name*/) {}
};

class TreeWalk {
 public:
  struct Plan {
    Ignored ignored = Ignored::LeftOut;
    const GlobFilter* pruning = nullptr;  // tells which directories can be skipped
    Deadline deadline = Deadline::never();
    std::size_t most_record_bytes = DirectoryEntries::kMostBytes;  // of one directory
  };

  // `root` is an open directory.
  TreeWalk(UniqueFd root, Plan plan);

  // One visitor per thread; fewer threads if the kernel grants no more.
  WalkCounts run(const std::vector<Visitor*>& visitors);

 private:
  // Shared, because its files wait in the queue while its subdirectories are visited.
  using Directory = std::shared_ptr<WalkedDirectory>;
  struct Task {
    Directory directory;  // of the files, or the parent
    std::string names;    // NUL after each
    bool is_files = false;
  };
  struct Worker;

  void work(Worker& worker);
  bool do_next_task(Worker& worker);  // returns false once all tasks are done
  bool next_task(Task& task);
  void queue(std::vector<Task>& fresh);
  void finish_task();
  void visit(Worker& worker, const Directory& directory);
  void read_rules(Worker& worker, WalkedDirectory& directory);
  void sort_entry(Worker& worker, const Directory& directory, const DirectoryEntries::Entry& entry);
  void take_files(Worker& worker, const WalkedDirectory& directory, const std::string& names);
  Directory open_below(Worker& worker, const WalkedDirectory& parent, const std::string& name);

  Plan plan_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Task> tasks_;     // last in, first out: keeps few directories open
  std::size_t waiting_ = 0;     // threads
  std::size_t unfinished_ = 0;  // tasks queued or under way
  UniqueFd root_;
};

// The number of threads that a search may use.
unsigned walk_threads();

}  // namespace nutshell::init::search
