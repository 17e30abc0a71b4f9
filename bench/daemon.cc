// The daemon through its socket: pools, execs, health calls, against what they stand for.
#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/defer.h"
#include "base/file.h"
#include "bench/benchmarks.h"
#include "bench/rivals.h"
#include "bench/sandboxes.h"
#include "http/client.h"
#include "runtime/runtime.h"

namespace nutshell::bench {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr const char* kConfig = R"([log]
requests = false
[[pools]]
name = "bench"
min_idle = 8
max_idle = 16
max_total = 64
)";

// A daemon of this benchmark's own, gone with it.
class OwnDaemon {
 public:
  static Result<OwnDaemon> start(const fs::path& programs) {
    std::string pattern = "/tmp/nutshell-bench-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) return syscall_failure("mkdtemp");
    OwnDaemon daemon(pattern);
    ::setenv("NUTSHELL_RUNTIME_DIR", pattern.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
    TRY(write_file(daemon.place_ / "c.toml", kConfig));
    const std::string program = programs / "nutshelld";
    const std::string config = daemon.place_ / "c.toml";
    const std::string state = daemon.place_ / "state";
    const std::string log = daemon.place_ / "log";
    std::vector<std::string> words = {program, "--config", config,         "--state",
                                      state,   "--socket", daemon.socket()};
    std::vector<char*> argv;
    for (std::string& word : words)
      argv.push_back(word.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 2, log.c_str(), O_WRONLY | O_CREAT, 0600);
    const int error =
        ::posix_spawn(&daemon.pid_, program.c_str(), &actions, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) return syscall_failure(error, "start", program);
    TRY(daemon.wait_until_ready());
    return daemon;
  }

  OwnDaemon(OwnDaemon&& other) noexcept
      : place_(std::exchange(other.place_, {})), pid_(std::exchange(other.pid_, -1)) {}
  OwnDaemon& operator=(OwnDaemon&&) = delete;
  ~OwnDaemon() {
    if (pid_ > 0) {
      ::kill(pid_, SIGTERM);
      ::waitpid(pid_, nullptr, 0);
    }
    std::error_code ignored;  // a directory left in /tmp is no reason to fail
    if (!place_.empty()) fs::remove_all(place_, ignored);
  }

  [[nodiscard]] std::string socket() const { return place_ / "socket"; }

 private:
  explicit OwnDaemon(fs::path place) : place_(std::move(place)) {}

  Result<> wait_until_ready() const {
    const Deadline deadline = Deadline::in(30s);
    for (;;) {
      http::Client client({.dial = http::dial_unix(socket())});
      if (client.send({.method = "POST", .target = "/v1/pools/bench/warm"}, deadline)) return {};
      if (deadline.has_passed()) return failure(ErrorCode::DeadlineExceeded, "no daemon answers");
      ::usleep(20'000);
    }
  }

  fs::path place_;
  pid_t pid_ = -1;
};

// A client with one connection that stays.
class Caller {
 public:
  explicit Caller(const std::string& socket) : client_({.dial = http::dial_unix(socket)}) {}

  Result<std::string> call(const std::string& method, const std::string& target,
                           const std::string& body = {}) {
    auto answer =
        TRY(client_.send({.method = method, .target = target, .body = body}, Deadline::in(30s)));
    if (answer.status / 100 != 2) {
      return failure(ErrorCode::Unavailable, method + " " + target + ": " + answer.body);
    }
    return std::move(answer.body);
  }

  Result<std::string> acquire() {
    const std::string body = TRY(call("POST", "/v1/pools/bench/acquire", "{}"));
    const auto parsed = nlohmann::json::parse(body, nullptr, false);
    if (!parsed.is_object()) return failure(ErrorCode::Corrupt, "acquire: not JSON");
    return parsed.value("id", std::string());
  }
  Result<> exec(const std::string& id) {
    TRY(call("POST", "/v1/sandboxes/" + id + "/exec", R"({"argv":["/bin/true"]})"));
    return {};
  }
  Result<> release(const std::string& id) {
    TRY(call("POST", "/v1/sandboxes/" + id + "/release"));
    return {};
  }

 private:
  http::Client client_;
};

// Gives back, and lets the pool fill again, outside the sample.
class Acquire : public Sampler {
 public:
  explicit Acquire(const std::string& socket) : caller_(socket) {}
  Result<double> sample() override {
    std::string id;
    const double taken = TRY(time_of([&]() -> Result<> {
      id = TRY(caller_.acquire());
      return {};
    }));
    TRY(caller_.release(id));
    TRY(caller_.call("POST", "/v1/pools/bench/warm"));
    return taken;
  }

 private:
  Caller caller_;
};

class WholeUse : public Sampler {
 public:
  explicit WholeUse(const std::string& socket) : caller_(socket) {}
  Result<double> sample() override {
    const double taken = TRY(time_of([&]() -> Result<> {
      const std::string id = TRY(caller_.acquire());
      TRY(caller_.exec(id));
      return caller_.release(id);
    }));
    TRY(caller_.call("POST", "/v1/pools/bench/warm"));
    return taken;
  }

 private:
  Caller caller_;
};

class HttpExec : public Sampler {
 public:
  static Result<std::unique_ptr<Sampler>> make(const std::string& socket) {
    auto sampler = std::make_unique<HttpExec>(socket);
    const std::string body = TRY(sampler->caller_.call("POST", "/v1/sandboxes", "{}"));
    sampler->id_ = nlohmann::json::parse(body, nullptr, false).value("id", std::string());
    return sampler;
  }
  explicit HttpExec(const std::string& socket) : caller_(socket) {}
  Result<double> sample() override {
    return time_of([&] { return caller_.exec(id_); });
  }

 private:
  Caller caller_;
  std::string id_;
};

// The same sandboxes without a daemon: the launcher's, one connection that stays.
class LibraryExec : public Sampler {
 public:
  static Result<std::unique_ptr<Sampler>> make(const fs::path& programs) {
    Runtime runtime({{}, programs});
    const std::string id = TRY(runtime.create({}));
    return std::make_unique<LibraryExec>(TRY(runtime.connect(id)));
  }
  explicit LibraryExec(wire::InitClient client) : client_(std::move(client)) {}
  Result<double> sample() override {
    return time_of([&]() -> Result<> {
      TRY(exec_to_success(client_, {"/bin/true"}));
      return {};
    });
  }

 private:
  wire::InitClient client_;
};

MakeSampler health(const std::string& socket) {
  return [socket]() -> Result<std::unique_ptr<Sampler>> {
    auto caller = std::make_shared<Caller>(socket);  // a step is copyable
    return timed([caller]() -> Result<> {
      TRY(caller->call("GET", "/healthz"));
      return {};
    })();
  };
}

template <typename OneSampler>
MakeSampler over(const std::string& socket) {
  return [socket]() -> Result<std::unique_ptr<Sampler>> {
    return std::make_unique<OneSampler>(socket);
  };
}

Result<Row> compare(Row row, const MakeSampler& ours, const MakeSampler& rival,
                    std::size_t samples) {
  std::vector<Contender> contenders;
  contenders.push_back(TRY(Contender::start(row.ours.name, ours)));
  contenders.push_back(TRY(Contender::start(row.rival->name, rival)));
  std::vector<Series> found = TRY(take_turns(contenders, samples));
  row.ours = std::move(found[0]);
  row.rival = std::move(found[1]);
  return row;
}

Row row_of(const char* path, const char* ours, const char* rival, double bar) {
  return {path, "us", {ours, {}}, Series{rival, {}}, Bar{Bar::Kind::AtMost, bar}, {}};
}

}  // namespace

Result<std::vector<Row>> bench_daemon(const Options& options) {
  const OwnDaemon daemon = TRY(OwnDaemon::start(options.programs));
  const std::string socket = daemon.socket();
  const MakeSampler spawn = timed([]() -> Result<> {
    TRY(run_captured({"/bin/true"}));
    return {};
  });
  std::vector<Row> rows;
  rows.push_back(TRY(compare(row_of("health call", "GET /healthz, kept alive", "posix_spawn", 0.2),
                             health(socket), spawn, options.samples)));
  rows.push_back(TRY(compare(row_of("acquire", "warm pool, socket", "posix_spawn", 0.5),
                             over<Acquire>(socket), spawn, options.samples)));
  rows.push_back(TRY(
      compare(row_of("acquire, exec, release", "through the socket", "posix_spawn, two pipes", 2.0),
              over<WholeUse>(socket), spawn, options.samples)));
  rows.push_back(TRY(compare(
      row_of("exec over HTTP", "POST …/exec", "library exec", 1.3),
      [&] { return HttpExec::make(socket); }, [&] { return LibraryExec::make(options.programs); },
      options.samples)));
  return rows;
}

}  // namespace nutshell::bench
