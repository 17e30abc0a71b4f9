#include "init/exec/exec.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/byte_size.h"
#include "base/file.h"
#include "init/exec/spawn.h"

namespace nutshell::init {
namespace {

using namespace std::chrono_literals;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kMostWaitingInput = 1U << 20U;
constexpr std::uint32_t kMostWindow = 16U << 20U;
constexpr auto kKillTime = 5s;
constexpr auto kExitTime = 1ms;  // from closing one stream to the end of the process

Result<std::pair<UniqueFd, UniqueFd>> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return syscall_failure("pipe");
  return std::pair(UniqueFd(ends[0]), UniqueFd(ends[1]));
}

// Where the kernel does not hand out the other side itself (gVisor).
UniqueFd open_numbered_terminal(int master) {
  unsigned number = 0;
  if (::ioctl(master, TIOCGPTN, &number) != 0) return UniqueFd();
  const std::string path = fmt::format("/dev/pts/{}", number);
  return UniqueFd(::open(path.c_str(), O_RDWR | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC));
}

Result<std::pair<UniqueFd, UniqueFd>> open_pty(const wire::Exec& request) {
  UniqueFd master(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  int unlock = 0;
  if (!master || ::ioctl(master.get(), TIOCSPTLCK, &unlock) != 0) {
    return syscall_failure("open a terminal");
  }
  UniqueFd slave(::ioctl(master.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!slave && errno == ENOTTY) slave = open_numbered_terminal(master.get());
  if (!slave) return syscall_failure("open a terminal's other side");
  const winsize size{request.rows, request.columns, 0, 0};
  if (::ioctl(master.get(), TIOCSWINSZ, &size) != 0) return syscall_failure("set the window size");
  return std::pair(std::move(master), std::move(slave));
}

OutputStream::WhenFull when_full(const wire::Exec& request) {
  return request.drops_oldest != 0 ? OutputStream::WhenFull::DropsOldest
                                   : OutputStream::WhenFull::Waits;
}

}  // namespace

// Ours and the command's ends. With a terminal, all three of the command's are the same slave.
struct Exec::Pipes {
  UniqueFd input_ours, input_theirs;
  UniqueFd output_ours, output_theirs;
  UniqueFd error_ours, error_theirs;
  UniqueFd terminal;
};

Result<Exec::Pipes> Exec::make_pipes(const wire::Exec& request) {
  Pipes pipes;
  if (request.terminal == static_cast<std::uint8_t>(Terminal::Pty)) {
    std::tie(pipes.terminal, pipes.input_theirs) = TRY(open_pty(request));
    pipes.output_ours.reset(::fcntl(pipes.terminal.get(), F_DUPFD_CLOEXEC, 3));
    pipes.input_ours.reset(::fcntl(pipes.terminal.get(), F_DUPFD_CLOEXEC, 3));
    if (!pipes.output_ours || !pipes.input_ours) return syscall_failure("dup");
  } else {
    std::tie(pipes.output_ours, pipes.output_theirs) = TRY(make_pipe());
    std::tie(pipes.error_ours, pipes.error_theirs) = TRY(make_pipe());
    if (request.standard_input == static_cast<std::uint8_t>(StandardInput::Streamed)) {
      std::tie(pipes.input_theirs, pipes.input_ours) = TRY(make_pipe());
    } else {
      pipes.input_theirs = TRY(open_file("/dev/null", O_RDONLY));
    }
    TRY(set_nonblocking(pipes.error_ours.get()));
  }
  TRY(set_nonblocking(pipes.output_ours.get()));
  if (pipes.input_ours) TRY(set_nonblocking(pipes.input_ours.get()));
  return pipes;
}

Exec::Exec(wire::Exec request, Mark mark, const ProcessMarks& marks, Pipes& pipes)
    : request_(std::move(request)),
      mark_(mark),
      marks_(marks),
      output_(wire::Stream::Output, std::move(pipes.output_ours), request_.window,
              when_full(request_)),
      error_(wire::Stream::Error, std::move(pipes.error_ours), request_.window,
             when_full(request_)),
      input_(std::move(pipes.input_ours)),
      terminal_(std::move(pipes.terminal)),
      allowance_(request_.output_bytes),
      started_(Clock::now()) {}

Result<std::unique_ptr<Exec>> Exec::start(wire::Exec request, Mark mark,
                                          const Surroundings& surroundings) {
  if (request.argv.empty() || request.window == 0 || request.window > kMostWindow) {
    return failure(ErrorCode::InvalidArgument, "an exec needs a command and a window");
  }
  Pipes pipes = TRY(make_pipes(request));
  std::unique_ptr<Exec> exec(new Exec(std::move(request), mark, surroundings.marks, pipes));
  TRY(exec->launch(surroundings, pipes));
  return exec;
}

Result<> Exec::launch(const Surroundings& surroundings, Pipes& pipes) {
  SpawnPlan plan;
  plan.argv = request_.argv;
  plan.environment = surroundings.environment;
  for (const std::string& variable : request_.environment) {
    const std::string name = variable.substr(0, variable.find('=') + 1);
    std::erase_if(plan.environment, [&](const std::string& old) { return old.starts_with(name); });
    plan.environment.push_back(variable);
  }
  const std::string& directory = request_.working_directory.empty() ? surroundings.working_directory
                                                                    : request_.working_directory;
  // Magic links would lead to what init holds open, not to a place in the sandbox.
  auto opened = open_beneath(AT_FDCWD, directory, O_PATH | O_DIRECTORY, 0, Links::Follow);
  if (!opened && opened.error().code == ErrorCode::InvalidArgument) {
    return failure(ErrorCode::InvalidArgument,
                   fmt::format("working directory {}: leads through a link that names an open "
                               "descriptor, or in circles: give a plain path like /workspace",
                               directory));
  }
  if (!opened) return while_doing("working directory", std::move(opened).error());
  const bool is_terminal = terminal_.is_open();
  plan.working_directory = opened->get();
  plan.standard_input = pipes.input_theirs.get();
  plan.standard_output = is_terminal ? plan.standard_input : pipes.output_theirs.get();
  plan.standard_error = is_terminal ? plan.standard_input : pipes.error_theirs.get();
  plan.is_terminal = is_terminal;
  plan.mark = mark_;
  plan.cpu_time = std::chrono::ceil<seconds>(milliseconds(request_.cpu_ms));
  plan.filter = surroundings.filter;
  plan.memory_priority = surroundings.memory_priority;
  const Spawned spawned = spawn(plan);
  if (spawned.pid < 0) return syscall_failure(spawned.error_number, "start a process");
  pid_ = spawned.pid;
  if (spawned.error_number != 0) {
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    if (!spawned.has_failed_in_exec) {
      return syscall_failure(spawned.error_number, "prepare a process");
    }
    fail_to_start(spawned.error_number);
    return {};
  }
  deadline_ = Deadline::in(milliseconds(request_.timeout_ms));
  // No tree can use up its CPU time before this much wall time has passed.
  cpu_check_ = Deadline::in(milliseconds(request_.cpu_ms / surroundings.cores));
  return {};
}

// As a shell has it: 127 for a command that is not there, 126 for one that cannot be run.
void Exec::fail_to_start(int error_number) {
  const std::string& name = request_.argv.front();
  detail_ = error_number == ENOENT
                ? fmt::format("{}: command not found in the sandbox", name)
                : fmt::format("{}: cannot be run: {}", name, ::strerrordesc_np(error_number));
  status_ = (error_number == ENOENT ? 127 : 126) << 8U;
  finish();
}

int Exec::input_descriptor() const {
  return !waiting_input_.empty() || is_input_ended_ ? input_.get() : -1;
}

Deadline Exec::next_check() const {
  if (has_ended()) return Deadline::never();
  if (!is_running()) return drain_deadline_;
  const Deadline next = earlier(deadline_, cpu_check_);
  return is_ending() ? earlier(next, ending_until_) : next;
}

void Exec::read_output() {
  const bool has_both = output_.is_open() && error_.is_open();
  output_.read_available(allowance_);
  error_.read_available(allowance_);
  if (has_both && output_.is_open() != error_.is_open()) ending_until_ = Deadline::in(kExitTime);
  const bool is_over = output_.written() + error_.written() > request_.output_bytes;
  if (is_over && !forced_ && !has_ended()) {
    end_with(Outcome::OutputLimit,
             fmt::format("more than {} bytes of output", format_byte_size(request_.output_bytes)));
  }
}

void Exec::write_input() {
  while (input_ && !waiting_input_.empty()) {
    const ssize_t count = ::write(input_.get(), waiting_input_.data(), waiting_input_.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    // A command that closed its input has, in effect, taken all of it.
    const std::size_t taken = count < 0 ? waiting_input_.size() : static_cast<std::size_t>(count);
    waiting_input_.erase(0, taken);
    input_consumed_ += taken;
    if (count < 0) input_.reset();
  }
  if (!is_input_ended_ || !input_) return;
  if (terminal_) {
    constexpr std::string_view kEndOfTransmission = "\x04";
    (void)write_all(input_.get(), kEndOfTransmission);  // a full terminal has input to read first
  }
  input_.reset();
}

Result<> Exec::add_input(std::string_view bytes) {
  if (!input_) {
    input_consumed_ += bytes.size();
    return {};
  }
  if (waiting_input_.size() + bytes.size() > kMostWaitingInput) {
    return failure(ErrorCode::Corrupt, "more input than the window allows");
  }
  waiting_input_ += bytes;
  write_input();
  return {};
}

void Exec::check_limits() {
  if (!is_running() || forced_) return;
  if (deadline_.has_passed()) {
    return end_with(
        Outcome::TimedOut,
        fmt::format("timeout of {}", format_duration(milliseconds(request_.timeout_ms))));
  }
  if (!cpu_check_.has_passed()) return;
  if (cpu_time_ + marks_.cpu_time(mark_) >= milliseconds(request_.cpu_ms)) {
    return end_with(Outcome::TimedOut, fmt::format("CPU time limit of {}",
                                                   format_duration(milliseconds(request_.cpu_ms))));
  }
  cpu_check_ = Deadline::in(100ms);
}

void Exec::end_with(Outcome outcome, std::string detail) {
  if (has_ended() || forced_) return;
  forced_ = outcome;
  detail_ = std::move(detail);
  const std::size_t left = marks_.kill_all(mark_, Deadline::in(kKillTime));
  if (left > 0) detail_ += fmt::format("; {} processes could not be killed yet", left);
}

void Exec::reaped(pid_t pid, int status, const rusage& usage) {
  const auto time = [](const timeval& value) {
    return seconds(value.tv_sec) + microseconds(value.tv_usec);
  };
  cpu_time_ += time(usage.ru_utime) + time(usage.ru_stime);
  peak_memory_bytes_ =
      std::max(peak_memory_bytes_, static_cast<std::uint64_t>(usage.ru_maxrss) << 10U);
  if (pid != pid_) return;
  pid_ = -1;
  status_ = status;
  output_.note_end();
  error_.note_end();
  // A terminal hands over its last bytes a moment later, and says when there are no more.
  drain_deadline_ = Deadline::in(terminal_ ? 200ms : 24h);
}

bool Exec::is_drained() const {
  if (terminal_) return !output_.is_open() || drain_deadline_.has_passed();
  return output_.has_read_to_end() && error_.has_read_to_end();
}

bool Exec::may_be_out_of_memory() const {
  if (is_running() || forced_) return false;
  return (WIFSIGNALED(status_) && WTERMSIG(status_) == SIGKILL) ||
         (WIFEXITED(status_) && WEXITSTATUS(status_) == 128 + SIGKILL);
}

void Exec::out_of_memory(std::string detail) {
  forced_ = Outcome::OutOfMemory;
  detail_ = std::move(detail);
}

// Its process has ended. Those it left in the background live on, unless we ended it.
void Exec::finish() {
  if (has_ended()) return;
  wire::Ended ended;
  if (forced_) {
    ended.outcome = static_cast<std::uint8_t>(*forced_);
  } else if (WIFSIGNALED(status_) && WTERMSIG(status_) == SIGXCPU) {
    ended.outcome = static_cast<std::uint8_t>(Outcome::TimedOut);
    detail_ = fmt::format("CPU time limit of {}", format_duration(milliseconds(request_.cpu_ms)));
  } else if (WIFSIGNALED(status_)) {
    ended.outcome = static_cast<std::uint8_t>(Outcome::Signalled);
    ended.signal = WTERMSIG(status_);
  } else {
    ended.outcome = static_cast<std::uint8_t>(Outcome::Exited);
    ended.exit_code = WEXITSTATUS(status_);
  }
  ended.detail = detail_;
  fill_totals(ended);
  result_ = std::move(ended);
  input_.reset();
  output_.discard_from_now();
  error_.discard_from_now();
}

void Exec::fill_totals(wire::Ended& ended) const {
  const auto now = Clock::now();
  ended.duration_us =
      static_cast<std::uint64_t>(std::chrono::duration_cast<microseconds>(now - started_).count());
  ended.cpu_us = static_cast<std::uint64_t>(cpu_time_.count());
  ended.peak_memory_bytes = peak_memory_bytes_;
  ended.output_bytes = output_.written();
  ended.error_bytes = error_.written();
  ended.output_sent = output_.kept();
  ended.error_sent = error_.kept();
}

void Exec::resize(std::uint16_t rows, std::uint16_t columns) {
  const winsize size{rows, columns, 0, 0};
  // A terminal that is already gone has no size to set.
  if (terminal_) (void)::ioctl(terminal_.get(), TIOCSWINSZ, &size);
}

void Exec::send_signal(int number) {
  if (is_running() && number > 0 && number <= SIGRTMAX) marks_.send_signal(mark_, number);
}

}  // namespace nutshell::init
