// The daemon through its socket: pools, execs, health calls, against what they stand for.
#include "bench/benchmarks.h"
#include "bench/own_daemon.h"
#include "bench/rivals.h"
#include "bench/sandboxes.h"
#include "runtime/runtime.h"

namespace nutshell::bench {
namespace {

namespace fs = std::filesystem;

class WholeUse : public Sampler {
 public:
  explicit WholeUse(const std::string& socket) : caller_(socket) {}
  Result<double> sample() override {
    const double taken = TRY(time_of([&]() -> Result<> {
      const std::string id = TRY(caller_.acquire());
      TRY(caller_.exec(id));
      return caller_.release(id);
    }));
    TRY(caller_.warm());
    return taken;
  }

 private:
  DaemonCaller caller_;
};

class HttpExec : public Sampler {
 public:
  static Result<std::unique_ptr<Sampler>> make(const std::string& socket) {
    auto sampler = std::make_unique<HttpExec>(socket);
    sampler->id_ = TRY(sampler->caller_.create());
    return sampler;
  }
  explicit HttpExec(const std::string& socket) : caller_(socket) {}
  Result<double> sample() override {
    return time_of([&] { return caller_.exec(id_); });
  }

 private:
  DaemonCaller caller_;
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
    auto caller = std::make_shared<DaemonCaller>(socket);  // a step is copyable
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
