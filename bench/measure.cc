#include "bench/measure.h"

#include <fmt/format.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/deadline.h"
#include "base/socket.h"

namespace nutshell::bench {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kWarmUpRounds = 5;
constexpr auto kLongestSample = 300s;
constexpr auto kCleanUpTime = 60s;
constexpr char kGood = '+';
constexpr char kBad = '-';

double at_fraction(const std::vector<double>& sorted, double fraction) {
  const auto last = static_cast<double>(sorted.size() - 1);
  return sorted[static_cast<std::size_t>(last * fraction + 0.5)];
}

std::string encode(const Result<double>& value) {
  if (value) return fmt::format("{}{}", kGood, *value);
  return kBad + value.error().message;
}

// Serves until the other side closes; what the sampler owns is given back before the process ends.
void serve_samples(int socket, const MakeSampler& make) {
  auto sampler = make();
  const Result<double> prepared = sampler ? Result<double>(0.0) : Failure(sampler.error());
  if (!send_packet(socket, encode(prepared)) || !sampler) return;
  for (;;) {
    const auto request = receive_packet(socket, Deadline::never());
    if (!request || request->bytes.empty()) return;
    if (!send_packet(socket, encode((*sampler)->sample()))) return;
  }
}

Result<ChildProcess> fork_process() {
  int pidfd = -1;
  clone_args arguments{};
  arguments.flags = CLONE_PIDFD;
  arguments.pidfd = reinterpret_cast<std::uintptr_t>(&pidfd);
  arguments.exit_signal = SIGCHLD;
  const long pid = ::syscall(SYS_clone3, &arguments, sizeof arguments);
  if (pid < 0) return syscall_failure("clone a process");
  return ChildProcess(static_cast<pid_t>(pid), UniqueFd(pidfd));
}

class TimedStep : public Sampler {
 public:
  explicit TimedStep(std::function<Result<>()> step) : step_(std::move(step)) {}
  Result<double> sample() override { return time_of(step_); }

 private:
  std::function<Result<>()> step_;
};

}  // namespace

Statistics summarize(const Series& series) {
  if (series.values.empty()) return {};
  std::vector<double> sorted = series.values;
  std::sort(sorted.begin(), sorted.end());
  return {sorted.size(), sorted.front(), at_fraction(sorted, 0.5), at_fraction(sorted, 0.95),
          sorted.back()};
}

Result<double> time_of(const std::function<Result<>()>& step) {
  const auto begin = Clock::now();
  TRY(step());
  return Microseconds(Clock::now() - begin).count();
}

MakeSampler timed(std::function<Result<>()> step) {
  return [step = std::move(step)]() -> Result<std::unique_ptr<Sampler>> {
    return std::make_unique<TimedStep>(step);
  };
}

Result<Contender> Contender::start(std::string name, const MakeSampler& make) {
  auto [ours, theirs] = TRY(make_socket_pair(SocketKind::Packets));
  ChildProcess process = TRY(fork_process());
  if (process.pid() == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    // The other contenders' sockets too: one left open here would keep its owner from ending.
    const auto kept = static_cast<unsigned>(theirs.get());
    ::close_range(3, kept - 1, 0);
    ::close_range(kept + 1, ~0U, 0);
    serve_samples(theirs.get(), make);
    ::_exit(0);
  }
  theirs.reset();
  Contender contender(std::move(name), std::move(process), std::move(ours));
  auto prepared = contender.answer();
  if (!prepared) return while_doing("prepare", std::move(prepared).error());
  return contender;
}

Contender::~Contender() {
  socket_.reset();
  if (!process_.is_owned()) return;
  // Killed by its owner's destructor when it does not end in time.
  (void)process_.wait(Deadline::in(kCleanUpTime));
}

Result<> Contender::ask() {
  return send_packet(socket_.get(), "?");
}

Result<double> Contender::answer() {
  const Packet packet = TRY(receive_packet(socket_.get(), Deadline::in(kLongestSample)));
  if (packet.bytes.empty()) {
    return failure(ErrorCode::Unavailable, fmt::format("{} died", name_));
  }
  if (packet.bytes[0] == kBad) {
    return failure(ErrorCode::Internal, fmt::format("{}: {}", name_, packet.bytes.substr(1)));
  }
  return std::strtod(packet.bytes.c_str() + 1, nullptr);
}

Result<std::vector<Series>> take_turns(std::vector<Contender>& contenders, std::size_t samples) {
  std::vector<Series> all;
  for (const Contender& contender : contenders)
    all.push_back({contender.name(), {}});
  for (std::size_t round = 0; round < kWarmUpRounds + samples; ++round) {
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      TRY(contenders[i].ask());
      const double value = TRY(contenders[i].answer());
      if (round >= kWarmUpRounds) all[i].values.push_back(value);
    }
  }
  return all;
}

}  // namespace nutshell::bench
