#include "init/search/described_entries.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <system_error>
#include <thread>

#include "init/paths.h"
#include "init/search/budget.h"
#include "init/search/tree_walk.h"

namespace nutshell::init::search {
namespace {

constexpr std::size_t kWorthThread = 256;  // below, a thread costs more than it saves
constexpr std::size_t kShare = 32;

// Taken in small shares: a thread that starts late, or on a busy core, does less.
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

}  // namespace

std::vector<wire::FileInfo> describe_entries(int directory, std::span<const char* const> names) {
  SharedWork work(directory, names);
  std::thread second;
  if (names.size() >= kWorthThread && walk_threads() > 1) {
    try {
      second = std::thread([&work] { work.take_part(); });
    } catch (const std::system_error&) {  // the sandbox has no process to spare: alone, then
    }
  }
  work.take_part();
  if (second.joinable()) second.join();
  std::vector<wire::FileInfo> infos = work.take_infos();
  for (std::size_t i = 0; i < infos.size(); ++i) {
    if (infos[i].kind == wire::FileKind::Link) infos[i].target = read_link(directory, names[i]);
  }
  return infos;
}

}  // namespace nutshell::init::search
