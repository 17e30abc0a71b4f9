#include "core/exec.h"

#include <fmt/format.h>

#include "core/sandbox_spec.h"

namespace nutshell {
namespace {

// Linux refuses more than 2 MiB of arguments and environment together, and 128 KiB for one.
constexpr std::size_t kMostArgumentBytes = 2U << 20U;
constexpr std::size_t kMostOneArgument = (128U << 10U) - 1;
constexpr std::size_t kMostPath = 4096;

Result<> check_text(const std::vector<std::string>& texts, std::string_view what,
                    std::size_t& total) {
  for (const std::string& text : texts) {
    if (text.find('\0') != std::string::npos) {
      return failure(ErrorCode::InvalidArgument, fmt::format("{} contains a NUL byte", what));
    }
    if (text.size() > kMostOneArgument) {
      return failure(ErrorCode::InvalidArgument,
                     fmt::format("one {} has {} bytes; Linux takes at most {}: pass the data on "
                                 "standard input or in a file",
                                 what, text.size(), kMostOneArgument));
    }
    total += text.size() + 1 + sizeof(char*);
  }
  return {};
}

}  // namespace

std::string_view to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::Exited:
      return "exited";
    case Outcome::Signalled:
      return "signalled";
    case Outcome::TimedOut:
      return "timed_out";
    case Outcome::OutOfMemory:
      return "out_of_memory";
    case Outcome::OutputLimit:
      return "output_limit";
    case Outcome::Cancelled:
      return "cancelled";
    case Outcome::Lost:
      return "lost";
  }
  return "lost";
}

Result<> check_exec(const ExecRequest& request) {
  if (request.argv.empty() || request.argv.front().empty()) {
    return failure(ErrorCode::InvalidArgument, "no command: put it behind --, as in -- ls -l");
  }
  std::size_t total = 0;
  TRY(check_text(request.argv, "argument", total));
  TRY(check_text(request.environment, "environment variable", total));
  TRY(check_environment(request.environment));
  if (total > kMostArgumentBytes) {
    return failure(ErrorCode::InvalidArgument,
                   fmt::format("arguments and environment have {} bytes; Linux takes at most {}: "
                               "pass the data on standard input or in a file",
                               total, kMostArgumentBytes));
  }
  if (request.working_directory.find('\0') != std::string::npos) {
    return failure(ErrorCode::InvalidArgument, "the working directory contains a NUL byte");
  }
  if (request.working_directory.size() > kMostPath) {
    return failure(ErrorCode::InvalidArgument,
                   fmt::format("the working directory has more than {} bytes", kMostPath));
  }
  return check_limits(request.limits);
}

}  // namespace nutshell
