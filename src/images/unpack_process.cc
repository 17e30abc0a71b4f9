#include "images/unpack_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <map>
#include <vector>

#include "base/child_process.h"
#include "base/defer.h"
#include "base/file.h"
#include "base/spawn_attributes.h"
#include "base/unique_fd.h"
#include "images/image_name.h"

namespace nutshell::images {
namespace {

constexpr std::size_t kMostReportBytes = 64U << 10U;
constexpr int kLockNumber = 3;  // behind the standard three

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};
Result<Pipe> make_pipe() {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return syscall_failure("pipe");
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

std::vector<std::string> words_of(const Unpacking& order) {
  return {"nutshell-unpack",
          "--report",
          fmt::format("--bytes={}", order.limits.bytes),
          fmt::format("--entries={}", order.limits.entries),
          fmt::format("--depth={}", order.limits.depth),
          fmt::format("--ratio={}", order.limits.ratio),
          fmt::format("--least-entries={}", order.least_entries),
          order.target.native()};
}

Result<ChildProcess> start(const Unpacking& order, int input, int output) {
  std::vector<std::string> words = words_of(order);
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const Defer freed([&] { posix_spawn_file_actions_destroy(&actions); });
  posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  if (order.lock >= 0) posix_spawn_file_actions_adddup2(&actions, order.lock, kLockNumber);
  const SpawnAttributes attributes;
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, order.program.c_str(), &actions, attributes.get(),
                                  arguments.data(), environ);
  if (error != 0) return syscall_failure(error, "start", order.program.native());
  return ChildProcess(pid, UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))));
}

Result<Unpacked> finish(ChildProcess child, UniqueFd output) {
  const std::string text = TRY(read_all(output.get(), kMostReportBytes));
  const auto status = TRY(child.wait(Deadline::never()));
  if (text.empty() && status && WIFSIGNALED(*status)) {
    return failure(ErrorCode::Internal,
                   fmt::format("nutshell-unpack was ended by signal {}", WTERMSIG(*status)));
  }
  return read_report(text);
}

}  // namespace

Result<Unpacked> read_report(std::string_view text) {
  std::map<std::string, std::string, std::less<>> lines;
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    const std::string_view line = text.substr(0, end);
    const std::size_t space = line.find(' ');
    if (space != std::string_view::npos)
      lines.emplace(line.substr(0, space), line.substr(space + 1));
    text.remove_prefix(end + 1);
  }
  if (lines.contains("error")) return failure(ErrorCode::InvalidArgument, lines["error"]);
  Unpacked report;
  report.packed_digest = lines["packed"];
  report.unpacked_digest = lines["unpacked"];
  bool is_whole = is_digest(report.packed_digest) && is_digest(report.unpacked_digest);
  const auto count = [&](const char* name) {
    const std::string& digits = lines[name];
    std::uint64_t value = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    is_whole = is_whole && read.ec == std::errc() && !digits.empty();
    return value;
  };
  report.bytes = count("bytes");
  report.entries = count("entries");
  report.skipped = count("skipped");
  if (!is_whole) return failure(ErrorCode::Internal, "nutshell-unpack ended without a report");
  return report;
}

Result<Unpacked> unpack_file(const Unpacking& order, int input) {
  Pipe answer = TRY(make_pipe());
  ChildProcess child = TRY(start(order, input, answer.write.get()));
  answer.write.reset();
  return finish(std::move(child), std::move(answer.read));
}

Result<Unpacked> unpack_stream(const Unpacking& order, const ArchiveWriter& write) {
  Pipe bytes = TRY(make_pipe());
  Pipe answer = TRY(make_pipe());
  ChildProcess child = TRY(start(order, bytes.read.get(), answer.write.get()));
  bytes.read.reset();
  answer.write.reset();
  auto written = write(bytes.write.get());
  // If nobody reads any more the unpacker has left early, and what it says is the reason.
  pollfd reader{bytes.write.get(), 0, 0};
  const bool has_left = ::poll(&reader, 1, 0) == 1 && (reader.revents & POLLERR) != 0;
  bytes.write.reset();
  auto report = finish(std::move(child), std::move(answer.read));
  // Half an archive may be sound to the unpacker: its word counts only if all was written.
  if (!written && (report || !has_left)) return Failure(std::move(written).error());
  return report;
}

}  // namespace nutshell::images
