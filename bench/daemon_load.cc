// Two hundred clients of the daemon at once, who do all kinds of things and check every answer.
#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <random>
#include <thread>

#include "bench/benchmarks.h"
#include "bench/own_daemon.h"

namespace nutshell::bench {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kClients = 200;

// The state that all clients share.
struct Load {
  std::string socket;
  std::atomic<bool> is_over = false;
  std::atomic<std::uint64_t> done = 0;
  std::atomic<std::uint64_t> errors = 0;
  std::atomic<std::uint64_t> wrong = 0;
  std::mutex mutex;
  std::string first_problem;

  void blame(std::atomic<std::uint64_t>& counter, const std::string& what) {
    ++counter;
    const std::lock_guard lock(mutex);
    if (first_problem.empty()) first_problem = what;
  }
};

class LoadClient {
 public:
  LoadClient(Load& load, std::uint32_t number)
      : load_(load), number_(number), caller_(load.socket), random_(number) {}

  void run() {
    const auto made = caller_.create();
    if (!made) return load_.blame(load_.errors, made.error().message);
    id_ = *made;
    while (!load_.is_over) {
      const auto step = one_step();
      if (!step) load_.blame(load_.errors, step.error().message);
      ++load_.done;
    }
    (void)caller_.call("DELETE", "/v1/sandboxes/" + id_);  // else it ends with its daemon
  }

 private:
  Result<> one_step() {
    const std::string word = fmt::format("{}-{}", number_, ++turn_);
    switch (std::uniform_int_distribution<int>(0, 9)(random_)) {
      case 0:
      case 1:
      case 2:
        return expect(TRY(caller_.output_of(id_, word)), word + "\n", "exec");
      case 3:
      case 4: {
        const std::string target = "/v1/sandboxes/" + id_ + "/files?path=/workspace/file";
        TRY(caller_.call("PUT", target, word));
        return expect(TRY(caller_.call("GET", target)), word, "file");
      }
      case 5: {
        const std::string id = TRY(caller_.acquire());
        TRY(expect(TRY(caller_.output_of(id, word)), word + "\n", "acquired exec"));
        return caller_.release(id);
      }
      case 6:
        return contains(TRY(caller_.call("GET", "/v1/sandboxes/" + id_)), id_, "get");
      case 7:
        return contains(TRY(caller_.call("GET", "/v1/sandboxes?limit=20")), "sandboxes", "list");
      case 8:
        return contains(
            TRY(caller_.call("POST", "/v1/sandboxes/" + id_ + "/tools/ls", R"({"path":"/"})")),
            "workspace", "tool");
      default:
        TRY(caller_.call("GET", "/healthz"));
        return {};
    }
  }
  Result<> expect(const std::string& found, const std::string& wanted, const char* what) {
    if (found != wanted) load_.blame(load_.wrong, fmt::format("{}: '{}'", what, found));
    return {};
  }
  Result<> contains(const std::string& found, const std::string& wanted, const char* what) {
    if (found.find(wanted) == std::string::npos)
      load_.blame(load_.wrong, fmt::format("{}: '{}'", what, found));
    return {};
  }

  Load& load_;
  std::uint32_t number_;
  DaemonCaller caller_;
  std::mt19937 random_;
  std::string id_;
  std::uint64_t turn_ = 0;
};

Result<Series> health_times(const std::string& socket, const std::function<bool()>& goes_on,
                            std::chrono::milliseconds pause) {
  DaemonCaller caller(socket);
  Series series{"GET /healthz", {}};
  while (goes_on()) {
    series.values.push_back(TRY(time_of([&]() -> Result<> {
      TRY(caller.call("GET", "/healthz"));
      return {};
    })));
    std::this_thread::sleep_for(pause);
  }
  return series;
}

double p99_of(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[values.size() * 99 / 100];
}

struct Memory {
  Series early{"in the second quarter", {}};
  Series late{"in the last quarter", {}};
};

// The first quarter is for filling caches and starting threads.
Result<Memory> watch_memory(const OwnDaemon& daemon, std::chrono::milliseconds duration) {
  Memory memory;
  const auto begin = Clock::now();
  for (;;) {
    std::this_thread::sleep_for(100ms);
    const auto part = 4 * (Clock::now() - begin) / duration;
    if (part >= 4) break;
    if (part == 1) memory.early.values.push_back(TRY(daemon.memory()));
    if (part == 3) memory.late.values.push_back(TRY(daemon.memory()));
  }
  if (!memory.early.values.empty() && !memory.late.values.empty()) return memory;
  return failure(ErrorCode::Unavailable, "the daemon's memory was not seen: too little time");
}

Row count_row(const char* path, std::uint64_t count, std::string note) {
  return {path,
          "",
          {"200 clients", {static_cast<double>(count)}},
          {},
          Bar{Bar::Kind::AtMost, 0},
          std::move(note)};
}

}  // namespace

Result<std::vector<Row>> bench_daemon_load(const Options& options) {
  const OwnDaemon daemon = TRY(OwnDaemon::start(options.programs));
  Load load;
  load.socket = daemon.socket();
  std::size_t left = options.samples;
  Series idle = TRY(health_times(
      load.socket, [&left] { return left-- > 0; }, 1ms));
  idle.name = "p50 while idle";
  std::vector<std::jthread> clients;
  for (std::uint32_t i = 0; i < kClients; ++i)
    clients.emplace_back([&load, i] { LoadClient(load, i).run(); });
  Result<Series> busy = Series{};
  std::jthread health([&] {
    // It is the daemon's time that counts, and not how long our own threads wait for each other.
    const sched_param first{.sched_priority = 1};
    if (::sched_setscheduler(0, SCHED_RR, &first) != 0)
      (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), -10);
    busy = health_times(
        load.socket, [&load] { return !load.is_over; }, 20ms);
  });
  auto memory = watch_memory(daemon, options.duration);
  load.is_over = true;
  clients.clear();
  health.join();
  const Memory held = TRY(std::move(memory));
  const Series worst{"p99 under load", {p99_of(TRY(busy).values)}};
  const std::string note =
      fmt::format("{} steps in {} s", load.done.load(), options.duration.count() / 1000);
  return std::vector<Row>{
      count_row("errors", load.errors, load.first_problem),
      count_row("wrong results", load.wrong, note),
      {"memory of the daemon", "KiB", held.late, held.early, Bar{Bar::Kind::AtMost, 1.05}, {}},
      {"health call", "us", worst, idle, Bar{Bar::Kind::AtMost, 20}, {}}};
}

}  // namespace nutshell::bench
