// nutshell-unpack DIR: unpacks the archive on standard input into DIR. It is a separate program,
// because an archive is hostile, and so may be the process that has read it: it can write only
// below DIR.
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "backends/native/filters/landlock.h"
#include "base/deadline.h"
#include "base/safe_text.h"
#include "base/seccomp_filter.h"
#include "unpack/unpack.h"

namespace nutshell {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kUsage =
    "usage: nutshell-unpack [OPTION…] DIR < ARCHIVE\n"
    "Unpacks a tar archive (plain, gzip, bzip2, xz, zstd, lz4) into the existing directory DIR.\n"
    "  --report         print digests and counts, or the error, to standard output\n"
    "  --bytes=N --entries=N --depth=N --ratio=N   what it may hold at most\n"
    "  --least-entries=N\n"
    "  --unsafe-without-landlock\n";
constexpr rlim_t kCpuSeconds = 600;

struct Options {
  std::string directory;
  UnpackLimits limits;
  bool is_report = false;
  bool is_without_landlock = false;
};

// Returns false if the argument is not a limit.
bool take_limit(std::string_view argument, UnpackLimits& limits) {
  const std::pair<std::string_view, std::uint64_t*> known[] = {
      {"--bytes=", &limits.bytes},
      {"--entries=", &limits.entries},
      {"--depth=", &limits.depth},
      {"--ratio=", &limits.ratio},
      {"--least-entries=", &limits.least_entries}};
  for (const auto& [name, value] : known) {
    if (!argument.starts_with(name)) continue;
    const std::string_view digits = argument.substr(name.size());
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), *value);
    return read.ec == std::errc() && read.ptr == digits.data() + digits.size();
  }
  return false;
}

Result<Options> parse_arguments(int count, char** arguments) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string_view argument = arguments[i];
    if (take_limit(argument, options.limits)) continue;
    if (argument == "--unsafe-without-landlock") {
      options.is_without_landlock = true;
    } else if (argument == "--report") {
      options.is_report = true;
    } else if (!argument.empty() && !argument.starts_with('-') && options.directory.empty()) {
      options.directory = argument;
    } else {
      return failure(ErrorCode::InvalidArgument, fmt::format("unknown argument '{}'", argument));
    }
  }
  if (options.directory.empty())
    return failure(ErrorCode::InvalidArgument, "no directory was given");
  return options;
}

Result<> limit_resource(__rlimit_resource resource, rlim_t most) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0) return syscall_failure("getrlimit");
  limit.rlim_max = std::min(limit.rlim_max, most);
  limit.rlim_cur = limit.rlim_max;
  if (::setrlimit(resource, &limit) != 0) return syscall_failure("setrlimit");
  return {};
}

// Restricts the process before it reads the first byte of the archive.
Result<> restrict_self(const Options& options) {
  std::error_code error;
  const auto directory = std::filesystem::canonical(options.directory, error);
  if (error) return syscall_failure(error.value(), "open", options.directory);
  if (::chdir(directory.c_str()) != 0) return syscall_failure("enter", directory.native());
  TRY(limit_resource(RLIMIT_CORE, 0));
  TRY(limit_resource(RLIMIT_CPU, kCpuSeconds));
  TRY(set_no_new_privileges());
  if (options.is_without_landlock) return {};
  auto restricted = restrict_paths({.writable = {directory.native()}, .devices = {}});
  if (!restricted && restricted.error().code == ErrorCode::Unsupported) {
    restricted.error().message += ": accept that with --unsafe-without-landlock";
  }
  return restricted;
}

// Shows a progress line that overwrites itself, on a terminal only.
class ProgressLine {
 public:
  // NOLINTNEXTLINE(bugprone-exception-escape): only where standard error is gone
  ~ProgressLine() {
    if (is_shown_) fmt::print(stderr, "\r\033[K");
  }
  void update(std::uint64_t bytes_read) {
    if (!is_terminal_ || !next_.has_passed()) return;
    next_ = Deadline::in(500ms);
    is_shown_ = true;
    fmt::print(stderr, "\r\033[Kunpacking: {} MiB read", bytes_read >> 20U);
  }

 private:
  bool is_terminal_ = ::isatty(STDERR_FILENO) == 1;
  bool is_shown_ = false;
  Deadline next_ = Deadline::in(500ms);
};

Result<UnpackReport> unpack_here(const UnpackLimits& limits) {
  ProgressLine line;
  return unpack_archive(STDIN_FILENO, limits,
                        [&](std::uint64_t bytes_read) { line.update(bytes_read); });
}

Result<UnpackReport> run(const Options& options) {
  TRY(restrict_self(options));
  return unpack_here(options.limits);
}

// Prints the report for the calling program: lines of "NAME VALUE".
void print_report(const Result<UnpackReport>& report) {
  if (!report) {
    fmt::print("error {}\n", report.error().message);
    return;
  }
  fmt::print("packed {}\nunpacked {}\nbytes {}\nentries {}\nskipped {}\n", report->packed,
             report->unpacked, report->bytes, report->entries, report->skipped);
}

void print_words(const Result<UnpackReport>& report) {
  if (!report) {
    fmt::print(stderr, "nutshell-unpack: {}\n", terminal_line(report.error().message));
  } else if (report->skipped > 0) {
    fmt::print(stderr, "nutshell-unpack: left out {} devices, FIFOs or sockets\n", report->skipped);
  }
}

}  // namespace
}  // namespace nutshell

// NOLINTNEXTLINE(bugprone-exception-escape): out of memory ends the program, as it should
namespace nutshell {
namespace {

// Ends with the process that reads the report: the files are then not needed either. The pipe is
// checked after the parent-death signal was set, because the reader may have died before.
Result<> end_with_reader() {
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return syscall_failure("set parent-death signal");
  pollfd reader{STDOUT_FILENO, 0, 0};
  const bool is_gone = ::poll(&reader, 1, 0) == 1 && (reader.revents & POLLERR) != 0;
  if (is_gone) return failure(ErrorCode::Cancelled, "the process that reads the report is gone");
  return {};
}

}  // namespace
}  // namespace nutshell

int main(int count, char** arguments) {
  const auto options = nutshell::parse_arguments(count, arguments);
  if (!options) {
    fmt::print(stderr, "nutshell-unpack: {}\n{}", nutshell::terminal_line(options.error().message),
               nutshell::kUsage);
    return 1;
  }
  if (options->is_report && !nutshell::end_with_reader()) return 1;
  const auto report = nutshell::run(*options);
  options->is_report ? nutshell::print_report(report) : nutshell::print_words(report);
  return report && std::fflush(stdout) == 0 ? 0 : 1;
}
