#include "backends/gvisor/runsc.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "base/environment.h"
#include "base/file.h"
#include "base/pipe.h"
#include "base/spawn.h"

namespace nutshell::gvisor {
namespace {

using namespace std::chrono_literals;

constexpr const char* kName = "runsc";
constexpr std::string_view kOldest =
    "20230801";  // the first with systrap and all flags that we use
constexpr std::size_t kMostWords = 16U << 10U;
constexpr const char* kHint = "Debian has it as runsc in bookworm-backports";

std::string find_program() {
  if (std::string named = environment_variable("NUTSHELL_RUNSC"); !named.empty()) return named;
  const std::string path = environment_variable("PATH");
  std::string_view rest = path.empty() ? "/usr/local/bin:/usr/bin:/bin" : std::string_view(path);
  for (;;) {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    std::string file = fmt::format("{}/{}", rest.substr(0, colon), kName);
    if (file.starts_with('/') && ::access(file.c_str(), X_OK) == 0) return file;
    if (colon == rest.size()) return {};
    rest.remove_prefix(colon + 1);
  }
}

Result<Pipe> make_answer_pipe() {
  Pipe pipe = TRY(make_pipe());
  TRY(set_nonblocking(pipe.read.get()));
  return pipe;
}

// Reads what is in the pipe without waiting for its end: a sandbox may keep the other end open.
std::string drain(int pipe) {
  std::string text(kMostWords, '\0');
  const ssize_t count = ::read(pipe, text.data(), text.size());
  text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  while (!text.empty() && text.back() == '\n')
    text.pop_back();
  return text;
}

}  // namespace

std::string day_of_version(std::string_view text) {
  constexpr std::size_t kDigits = 8;
  constexpr std::string_view kNumbers = "0123456789";
  std::size_t at = 0;
  while ((at = text.find_first_of(kNumbers, at)) != std::string_view::npos) {
    const std::size_t end = std::min(text.find_first_not_of(kNumbers, at), text.size());
    if (end - at == kDigits) return std::string(text.substr(at, kDigits));
    at = end;
  }
  return {};
}

Result<Runsc> Runsc::find() {
  const std::string program = find_program();
  if (program.empty()) {
    return failure(ErrorCode::Unsupported,
                   fmt::format("gVisor's program {} is not in PATH: install it. {}", kName, kHint));
  }
  Runsc runsc(program, "");
  runsc.version_ = day_of_version(TRY(runsc.ask({"--version"}, Deadline::in(10s))));
  if (!runsc.version_.empty() && runsc.version_ < kOldest) {
    return failure(ErrorCode::Unsupported,
                   fmt::format("{} is of {} and lacks system calls that programs use today: {} or "
                               "newer is needed. {}",
                               program, runsc.version_, kOldest, kHint));
  }
  return runsc;
}

Result<ChildProcess> Runsc::spawn(const std::vector<std::string>& arguments,
                                  const Streams& streams) const {
  Command command{.arguments = {kName},
                  .program = program_,
                  .input = streams.input,
                  .output = streams.output,
                  .error = streams.error,
                  .session = Command::Session::Own};
  command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
  return nutshell::spawn(command);
}

Result<> Runsc::run(const std::vector<std::string>& arguments, Streams streams,
                    const Deadline& deadline) const {
  Pipe words = TRY(make_answer_pipe());
  streams.error = words.write.get();
  ChildProcess child = TRY(spawn(arguments, streams));
  const std::optional<int> status = TRY(child.wait(deadline));
  const std::string& what = arguments.front().starts_with("--version") ? kName : arguments.back();
  if (!status) {
    return failure(ErrorCode::DeadlineExceeded,
                   fmt::format("{} {}: it did not end in time", kName, what));
  }
  if (WIFEXITED(*status) && WEXITSTATUS(*status) == 0) return {};
  const std::string said = drain(words.read.get());
  return failure(ErrorCode::Unavailable,
                 fmt::format("{} {}: {}", kName, what, said.empty() ? "it failed" : said));
}

Result<std::string> Runsc::ask(const std::vector<std::string>& arguments,
                               const Deadline& deadline) const {
  const Pipe pipe = TRY(make_answer_pipe());
  TRY(run(arguments, {.output = pipe.write.get()}, deadline));
  return drain(pipe.read.get());
}

}  // namespace nutshell::gvisor
