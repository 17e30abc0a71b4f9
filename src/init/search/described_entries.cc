#include "init/search/described_entries.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>

#include "init/files/paths.h"
#include "init/search/budget.h"
#include "init/search/tree_walk.h"

namespace nutshell::init::search {
namespace {

constexpr std::size_t kWorthThread = 256;  // below, a thread costs more than it saves
constexpr std::size_t kShare = 32;

// Threads take small shares of the work: one that starts late, or on a busy core, does less.
class SharedWork {
 public:
  SharedWork(int directory, std::span<const char* const> names)
      : directory_(directory), infos_(names.size()) {
    turns_.reserve(names.size());
    for (std::uint32_t place = 0; place < names.size(); ++place)
      turns_.push_back({names[place], place});
    std::sort(turns_.begin(), turns_.end(),
              [](const Turn& a, const Turn& b) { return a.name < b.name; });
  }

  void take_part() {
    for (;;) {
      const std::size_t first = next_.fetch_add(kShare, std::memory_order_relaxed);
      if (first >= turns_.size()) return;
      for (std::size_t i = first; i < std::min(first + kShare, turns_.size()); ++i)
        infos_[turns_[i].place] = describe_status(directory_, turns_[i].name);
    }
  }
  std::vector<wire::FileInfo> take_infos() { return std::move(infos_); }

 private:
  struct Turn {
    const char* name;
    std::uint32_t place;
  };
  int directory_;
  std::vector<wire::FileInfo> infos_;  // each is written by the one thread that took its share
  std::vector<Turn> turns_;
  std::atomic<std::size_t> next_{0};
};

// Runs on another core. The kernel would put the thread on the core that made it, whose cache has
// the data, and there it would begin when the work is done.
class SecondThread {
 public:
  explicit SecondThread(SharedWork& work) {
    cpu_set_t others;
    CPU_ZERO(&others);
    const int own = ::sched_getcpu();
    if (own < 0 || ::sched_getaffinity(0, sizeof others, &others) != 0) return;
    CPU_CLR(static_cast<unsigned>(own), &others);
    pthread_attr_t attributes;
    if (CPU_COUNT(&others) == 0 || ::pthread_attr_init(&attributes) != 0) return;
    // At the sandbox's process limit one thread does all the work.
    is_started_ = ::pthread_attr_setaffinity_np(&attributes, sizeof others, &others) == 0 &&
                  ::pthread_create(&thread_, &attributes, take_part, &work) == 0;
    ::pthread_attr_destroy(&attributes);
  }
  SecondThread(SecondThread&&) = delete;
  SecondThread& operator=(SecondThread&&) = delete;
  ~SecondThread() {
    if (is_started_) ::pthread_join(thread_, nullptr);
  }

 private:
  static void* take_part(void* work) {
    static_cast<SharedWork*>(work)->take_part();
    return nullptr;
  }

  pthread_t thread_{};
  bool is_started_ = false;
};

}  // namespace

std::vector<wire::FileInfo> describe_entries(int directory, std::span<const char* const> names) {
  SharedWork work(directory, names);
  {
    std::optional<SecondThread> second;
    if (names.size() >= kWorthThread) second.emplace(work);
    work.take_part();
  }
  std::vector<wire::FileInfo> infos = work.take_infos();
  for (std::size_t i = 0; i < infos.size(); ++i) {
    if (infos[i].kind == wire::FileKind::Link) infos[i].target = read_link(directory, names[i]);
  }
  return infos;
}

}  // namespace nutshell::init::search
