// Measures the cost of many living sandboxes: the time to create one more, and the host's memory.
//
// Many sandboxes slow the whole kernel, so samples with few and with many alive cannot be taken at
// the same time. Blocks of each take turns instead.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <thread>

#include "bench/benchmarks.h"
#include "bench/host_memory.h"
#include "bench/sandboxes.h"
#include "init/init.h"

namespace nutshell::bench {
namespace {

using namespace std::chrono_literals;
using native::NativeSandbox;
using native::Starter;

constexpr std::size_t kRounds = 3;
constexpr auto kSettleTime = 1500ms;  // freed memory comes back after grace periods of the kernel

class Crowd {
 public:
  explicit Crowd(Starter starter) : starter_(std::move(starter)) { spec_.ttl = 1h; }

  Result<> resize(std::size_t count) {
    while (alive_.size() < count)
      alive_.push_back(TRY(create()));
    while (alive_.size() > count) {
      starter_.finish(std::move(alive_.back()));
      alive_.pop_back();
    }
    return {};
  }

  // Creates one more and ends it; only the creation counts.
  Result<double> time_creation() {
    while (starter_.prepare_one()) {
    }
    std::optional<NativeSandbox> sandbox;
    const double time = TRY(time_of([&]() -> Result<> {
      sandbox.emplace(TRY(create()));
      return {};
    }));
    starter_.finish(std::move(*sandbox));
    return time;
  }

  [[nodiscard]] std::vector<pid_t> processes() const {
    std::vector<pid_t> all;
    for (const NativeSandbox& sandbox : alive_)
      all.push_back(sandbox.init.pid());
    return all;
  }

 private:
  Result<NativeSandbox> create() {
    NativeSandbox sandbox = TRY(starter_.start(spec_));
    TRY(Starter::wait_until_started(sandbox));
    sandbox.report.reset();
    return sandbox;
  }

  Starter starter_;
  SandboxSpec spec_;
  std::vector<NativeSandbox> alive_;
};

struct Found {
  Series few{"with one alive", {}};
  Series many;
  Series memory{"kernel objects and private pages", {}};
  Series available{"fall of MemAvailable", {}};
  HostMemory each;  // of the last round
  double own_each = 0;
};

Result<> time_block(Crowd& crowd, std::size_t samples, Series& series) {
  for (std::size_t i = 0; i < samples; ++i)
    series.values.push_back(TRY(crowd.time_creation()));
  return {};
}

Result<> measure_memory(Crowd& crowd, const HostMemory& before, double added, Found& found) {
  std::this_thread::sleep_for(kSettleTime);
  const HostMemory now = TRY(HostMemory::read());
  found.each = {(before.available - now.available) / added, (now.slab - before.slab) / added,
                (now.per_cpu - before.per_cpu) / added,
                (now.kernel_stack - before.kernel_stack) / added,
                (now.page_tables - before.page_tables) / added};
  found.own_each = TRY(private_memory(crowd.processes())) / added;
  found.memory.values.push_back(found.each.kernel() + found.own_each);
  found.available.values.push_back(found.each.available);
  return {};
}

// A dozen descriptors belong to each sandbox.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);  // with too few, creation fails and says so
}

Result<Found> measure(const Options& options) {
  Crowd crowd(TRY(Starter::create(&init::run_init, native::Pooling::On)));
  Found found;
  found.many.name = fmt::format("with {} alive", options.alive);
  const std::size_t block = options.samples / kRounds + 1;
  for (std::size_t round = 0; round < kRounds; ++round) {
    TRY(crowd.resize(1));
    std::this_thread::sleep_for(kSettleTime);
    TRY(time_block(crowd, block, found.few));
    const HostMemory before = TRY(HostMemory::read());
    TRY(crowd.resize(options.alive));
    TRY(measure_memory(crowd, before, static_cast<double>(options.alive - 1), found));
    TRY(time_block(crowd, block, found.many));
  }
  TRY(crowd.resize(0));
  return found;
}

}  // namespace

Result<std::vector<Row>> bench_scale(const Options& options) {
  if (::geteuid() != 0) {
    return failure(ErrorCode::PermissionDenied,
                   "scale looks into processes of other users: it "
                   "needs root");
  }
  raise_descriptor_limit();
  const Found found = TRY(measure(options));
  const std::string parts = fmt::format(
      "each, last round: slab {:.0f}, per-cpu {:.0f}, stacks {:.0f}, page tables {:.0f}, init's "
      "private pages {:.0f}",
      found.each.slab, found.each.per_cpu, found.each.kernel_stack, found.each.page_tables,
      found.own_each);
  return std::vector<Row>{
      {"create among many", "us", found.many, found.few, Bar{Bar::Kind::AtMost, 1.3}, {}},
      {"memory of one sandbox", "KiB", found.memory, {}, Bar{Bar::Kind::AtMost, 400}, parts},
      {"memory of one sandbox, with all noise", "KiB", found.available, {}, {}, {}},
  };
}

}  // namespace nutshell::bench
