#include "core/exec.h"

#include <fmt/format.h>

#include "core/sandbox_spec.h"
#include "core/text_form.h"

namespace nutshell {
namespace {

// Linux refuses more than 2 MiB of arguments and environment together, and 128 KiB for one.
constexpr std::size_t kMostArgumentBytes = 2U << 20U;
constexpr std::size_t kMostOneArgument = (128U << 10U) - 1;

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
  return check_bounds(request);
}

}  // namespace nutshell
