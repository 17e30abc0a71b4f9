#include "init/exec/exec.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>

#include "base/beneath.h"
#include "base/byte_size.h"
#include "base/file.h"
#include "base/pipe.h"
#include "core/left_running.h"
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

// For kernels that do not hand out the other side of a terminal (gVisor).
UniqueFd open_numbered_terminal(int master) {
  unsigned number = 0;
  if (::ioctl(master, TIOCGPTN, &number) != 0) return UniqueFd();
  const std::string path = fmt::format("/dev/pts/{}", number);
  return UniqueFd(::open(path.c_str(), O_RDWR | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC));
}

Result<std::pair<UniqueFd, UniqueFd>> open_pty(const ExecRequest& request) {
  UniqueFd master(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  int unlock = 0;
  if (!master || ::ioctl(master.get(), TIOCSPTLCK, &unlock) != 0) {
    return syscall_failure("open a terminal");
  }
  UniqueFd slave(::ioctl(master.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!slave && errno == ENOTTY) slave = open_numbered_terminal(master.get());
  if (!slave) return syscall_failure("open a terminal's other side");
  const winsize size{request.window.rows, request.window.columns, 0, 0};
  if (::ioctl(master.get(), TIOCSWINSZ, &size) != 0) return syscall_failure("set the window size");
  return std::pair(std::move(master), std::move(slave));
}

OutputStream::WhenFull when_full(const wire::Exec& message) {
  return message.drops_oldest != 0 ? OutputStream::WhenFull::DropsOldest
                                   : OutputStream::WhenFull::Waits;
}

}  // namespace

// Init's ends and the command's. With a terminal, the command's three are the same slave.
struct Exec::Pipes {
  Pipe input;
  Pipe output;
  Pipe error;
  UniqueFd terminal;
};

Result<Exec::Pipes> Exec::make_pipes(const ExecRequest& request) {
  Pipes pipes;
  if (request.terminal == Terminal::Pty) {
    std::tie(pipes.terminal, pipes.input.read) = TRY(open_pty(request));
    pipes.output.read.reset(::fcntl(pipes.terminal.get(), F_DUPFD_CLOEXEC, 3));
    pipes.input.write.reset(::fcntl(pipes.terminal.get(), F_DUPFD_CLOEXEC, 3));
    if (!pipes.output.read || !pipes.input.write) return syscall_failure("dup");
  } else {
    pipes.output = TRY(make_pipe());
    pipes.error = TRY(make_pipe());
    if (request.standard_input == StandardInput::Streamed) {
      pipes.input = TRY(make_pipe());
    } else {
      pipes.input.read = TRY(open_file("/dev/null", O_RDONLY));
    }
    TRY(set_nonblocking(pipes.error.read.get()));
  }
  TRY(set_nonblocking(pipes.output.read.get()));
  if (pipes.input.write) TRY(set_nonblocking(pipes.input.write.get()));
  return pipes;
}

Exec::Exec(wire::Exec&& message, Mark mark, const ProcessMarks& marks, Pipes& pipes)
    : id_(std::move(message.exec_id)),
      request_(std::move(message.request)),
      mark_(mark),
      marks_(marks),
      output_(wire::Stream::Output, std::move(pipes.output.read), message.window,
              when_full(message)),
      error_(wire::Stream::Error, std::move(pipes.error.read), message.window, when_full(message)),
      input_(std::move(pipes.input.write)),
      terminal_(std::move(pipes.terminal)),
      allowance_(request_.limits.output_bytes),
      started_(Clock::now()) {}

Result<std::unique_ptr<Exec>> Exec::start(wire::Exec message, Mark mark, const Settings& settings) {
  if (message.request.argv.empty() || message.window == 0 || message.window > kMostWindow) {
    return failure(ErrorCode::InvalidArgument, "an exec needs a command and a window");
  }
  Pipes pipes = TRY(make_pipes(message.request));
  std::unique_ptr<Exec> exec(new Exec(std::move(message), mark, settings.marks, pipes));
  TRY(exec->launch(settings, pipes));
  return exec;
}

Result<> Exec::launch(const Settings& settings, Pipes& pipes) {
  SpawnPlan plan;
  plan.argv = request_.argv;
  plan.environment = settings.environment;
  for (const std::string& variable : request_.environment) {
    const std::string name = variable.substr(0, variable.find('=') + 1);
    std::erase_if(plan.environment, [&](const std::string& old) { return old.starts_with(name); });
    plan.environment.push_back(variable);
  }
  const std::string& directory =
      request_.working_directory.empty() ? settings.working_directory : request_.working_directory;
  // Magic links would lead to files that init holds open, not into the sandbox.
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
  plan.standard_input = pipes.input.read.get();
  plan.standard_output = is_terminal ? plan.standard_input : pipes.output.write.get();
  plan.standard_error = is_terminal ? plan.standard_input : pipes.error.write.get();
  plan.is_terminal = is_terminal;
  plan.mark = mark_;
  plan.cpu_time = std::chrono::ceil<seconds>(request_.limits.cpu_time);
  plan.filter = settings.filter;
  plan.memory_priority = settings.memory_priority;
  plan.watch_sender = settings.watch_sender;
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
  deadline_ = Deadline::in(request_.limits.timeout);
  // The processes cannot use up their CPU time before this much wall time has passed.
  cpu_check_ = Deadline::in(request_.limits.cpu_time / settings.cores);
  return {};
}

// Exit codes as in a shell: 127 for a missing command, 126 for one that cannot be run.
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
  const bool is_over = output_.written() + error_.written() > request_.limits.output_bytes;
  if (is_over && !forced_ && !has_ended()) {
    end_with(Outcome::OutputLimit, fmt::format("more than {} bytes of output",
                                               format_byte_size(request_.limits.output_bytes)));
  }
}

void Exec::write_input() {
  while (input_ && !waiting_input_.empty()) {
    const ssize_t count = ::write(input_.get(), waiting_input_.data(), waiting_input_.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    // If the command closed its input, all of it counts as taken.
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
    return end_with(Outcome::TimedOut,
                    fmt::format("timeout of {}", format_duration(request_.limits.timeout)));
  }
  if (!cpu_check_.has_passed()) return;
  if (cpu_time_ + marks_.cpu_time(mark_) >= request_.limits.cpu_time) {
    return end_with(Outcome::TimedOut,
                    fmt::format("CPU time limit of {}", format_duration(request_.limits.cpu_time)));
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
  // A terminal hands over its last bytes a moment later, and reports their end.
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

void Exec::note_left_running(std::size_t count) {
  if (count == 0 || forced_ || terminal_ || !WIFEXITED(status_)) return;
  const auto left = milliseconds(std::max(0, deadline_.poll_timeout()));
  detail_ = fmt::format("{}{} process{}, until the command's timeout ends {} in {}", kLeftRunning,
                        count, count == 1 ? "" : "es", count == 1 ? "it" : "them",
                        format_duration(std::chrono::ceil<seconds>(left)));
}

// Called when the command's process has ended. Its background processes live on, unless init ended
// the exec.
void Exec::finish() {
  if (has_ended()) return;
  ExecResult result;
  if (forced_) {
    result.outcome = *forced_;
  } else if (WIFSIGNALED(status_) && WTERMSIG(status_) == SIGXCPU) {
    result.outcome = Outcome::TimedOut;
    detail_ = fmt::format("CPU time limit of {}", format_duration(request_.limits.cpu_time));
  } else if (WIFSIGNALED(status_)) {
    result.outcome = Outcome::Signalled;
    result.signal = WTERMSIG(status_);
  } else {
    result.outcome = Outcome::Exited;
    result.exit_code = WEXITSTATUS(status_);
  }
  result.detail = detail_;
  fill_totals(result);
  result_ = wire::Ended{std::move(result)};
  input_.reset();
  output_.discard_from_now();
  error_.discard_from_now();
}

void Exec::fill_totals(ExecResult& result) const {
  result.duration = std::chrono::duration_cast<microseconds>(Clock::now() - started_);
  result.cpu_time = cpu_time_;
  result.peak_memory_bytes = peak_memory_bytes_;
  result.stdout_bytes = output_.written();
  result.stderr_bytes = error_.written();
  result.stdout_truncated = output_.kept() < output_.written();
  result.stderr_truncated = error_.kept() < error_.written();
  result.refused_connections = refusals_;
  result.refused_connection_count = refusal_count_;
}

void Exec::note_refusal(const std::string& reason) {
  if (has_ended()) return;
  ++refusal_count_;
  const bool is_known = std::find(refusals_.begin(), refusals_.end(), reason) != refusals_.end();
  if (!is_known && refusals_.size() < ExecResult::kMostRefusals) refusals_.push_back(reason);
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
