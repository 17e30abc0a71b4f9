// Ten megabytes of output through a sandbox's stream, against a pipe.
#include <fmt/format.h>

#include "bench/benchmarks.h"
#include "bench/rivals.h"
#include "bench/sandboxes.h"

namespace nutshell::bench {
namespace {

constexpr std::size_t kBytes = 10'000'000;

Arguments command() {
  return {"/usr/bin/head", "-c", std::to_string(kBytes), "/dev/zero"};
}

Result<double> megabytes_per_second(const std::string& output, double microseconds) {
  if (output.size() == kBytes) return static_cast<double>(kBytes) / microseconds;
  return failure(ErrorCode::Internal,
                 fmt::format("{} bytes came through of {}", output.size(), kBytes));
}

class SandboxOutput : public Sampler {
 public:
  explicit SandboxOutput(RunningSandbox sandbox) : sandbox_(std::move(sandbox)) {}

  Result<double> sample() override {
    const auto begin = Clock::now();
    const wire::CapturedOutput captured = TRY(sandbox_.exec(command()));
    return megabytes_per_second(captured.output, Microseconds(Clock::now() - begin).count());
  }

 private:
  RunningSandbox sandbox_;
};

class PipeOutput : public Sampler {
 public:
  Result<double> sample() override {
    const auto begin = Clock::now();
    const Captured captured = TRY(run_captured(command()));
    return megabytes_per_second(captured.output, Microseconds(Clock::now() - begin).count());
  }
};

}  // namespace

Result<std::vector<Row>> bench_output(const Options& options) {
  std::vector<Contender> contenders;
  contenders.push_back(
      TRY(Contender::start("exec in a sandbox", []() -> Result<std::unique_ptr<Sampler>> {
        return std::make_unique<SandboxOutput>(TRY(RunningSandbox::start()));
      })));
  contenders.push_back(
      TRY(Contender::start("posix_spawn, pipes", []() -> Result<std::unique_ptr<Sampler>> {
        return std::make_unique<PipeOutput>();
      })));
  const std::vector<Series> found = TRY(take_turns(contenders, options.samples / 4 + 1));
  return std::vector<Row>{
      {"10 MB of output", "MB/s", found[0], found[1], Bar{Bar::Kind::AtLeast, 0.5}, {}}};
}

}  // namespace nutshell::bench
