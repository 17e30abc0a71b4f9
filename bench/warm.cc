// A command in a sandbox that already runs, its output captured, against the same without one.
#include "bench/benchmarks.h"
#include "bench/rivals.h"
#include "bench/sandboxes.h"

namespace nutshell::bench {
namespace {

class WarmExec : public Sampler {
 public:
  WarmExec(RunningSandbox sandbox, Arguments command)
      : sandbox_(std::move(sandbox)), command_(std::move(command)) {}

  Result<double> sample() override {
    return time_of([this]() -> Result<> {
      TRY(sandbox_.exec(command_));
      return {};
    });
  }

 private:
  RunningSandbox sandbox_;
  Arguments command_;
};

Result<Row> compare(const Arguments& command, std::size_t samples) {
  std::vector<Contender> contenders;
  contenders.push_back(
      TRY(Contender::start("exec in a sandbox", [&]() -> Result<std::unique_ptr<Sampler>> {
        return std::make_unique<WarmExec>(TRY(RunningSandbox::start()), command);
      })));
  contenders.push_back(TRY(Contender::start("posix_spawn, two pipes", timed([&]() -> Result<> {
                                              TRY(run_captured(command));
                                              return {};
                                            }))));
  std::vector<Series> found = TRY(take_turns(contenders, samples));
  return Row{"warm " + command.back(), "us", found[0], found[1], {}, {}};
}

}  // namespace

Result<std::vector<Row>> bench_warm(const Options& options) {
  Row plain = TRY(compare({"/bin/true"}, options.samples));
  plain.bar = Bar{Bar::Kind::AtMost, 1.1};
  Row shell = TRY(compare({"/bin/bash", "-c", "echo hi"}, options.samples));
  return std::vector<Row>{std::move(plain), std::move(shell)};
}

}  // namespace nutshell::bench
