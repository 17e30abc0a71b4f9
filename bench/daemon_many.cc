// The daemon with a thousand sandboxes alive: its list, and one more of them.
#include <fmt/format.h>

#include "bench/benchmarks.h"
#include "bench/own_daemon.h"

namespace nutshell::bench {
namespace {

Result<> time_creations(DaemonCaller& caller, std::size_t samples, Series& series) {
  for (std::size_t i = 0; i < samples; ++i) {
    std::string id;
    series.values.push_back(TRY(time_of([&]() -> Result<> {
      id = TRY(caller.create());
      return {};
    })));
    TRY(caller.call("DELETE", "/v1/sandboxes/" + id));
  }
  return {};
}

Result<std::string> list_all(DaemonCaller& caller) {
  return caller.call("GET", "/v1/sandboxes?limit=1000");
}

}  // namespace

Result<std::vector<Row>> bench_daemon_many(const Options& options) {
  const OwnDaemon daemon = TRY(OwnDaemon::start(options.programs));
  DaemonCaller caller(daemon.socket());
  Series few{"with none alive", {}};
  Series many{fmt::format("with {} alive", options.alive), {}};
  Series list{fmt::format("list of {}", options.alive), {}};
  TRY(time_creations(caller, options.samples, few));
  std::string last;
  for (std::size_t i = 0; i < options.alive; ++i)
    last = TRY(caller.create());
  TRY(time_creations(caller, options.samples, many));
  for (std::size_t i = 0; i < options.samples; ++i) {
    std::string body;
    list.values.push_back(TRY(time_of([&]() -> Result<> {
      body = TRY(list_all(caller));
      return {};
    })));
    if (options.alive <= 1000 && body.find(last) == std::string::npos)
      return failure(ErrorCode::Corrupt, "a sandbox is missing in the list");
  }
  return std::vector<Row>{
      {"list, through the socket", "us", list, {}, Bar{Bar::Kind::AtMost, 10'000}, {}},
      {"create, through the socket", "us", many, few, Bar{Bar::Kind::AtMost, 1.3}, {}}};
}

}  // namespace nutshell::bench
