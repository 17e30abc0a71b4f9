#include "images/run_program.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"

namespace nutshell::images {
namespace {

constexpr std::size_t kMostOutput = 4U << 20U;

Result<std::string> text_in(int file) {
  if (::lseek(file, 0, SEEK_SET) != 0) return syscall_failure("seek");
  return read_all(file, kMostOutput);
}

}  // namespace

Result<std::string> run_program(Command command, const Deadline& deadline) {
  const UniqueFd output(::memfd_create("output", MFD_CLOEXEC));
  const UniqueFd errors(::memfd_create("errors", MFD_CLOEXEC));
  if (!output || !errors) return syscall_failure("memfd_create");
  command.output = output.get();
  command.error = errors.get();
  ChildProcess child = TRY(spawn(command));
  const auto status = TRY(child.wait(deadline));
  if (!status) {
    return failure(ErrorCode::DeadlineExceeded,
                   fmt::format("{} takes too long", command.arguments.front()));
  }
  if (WIFEXITED(*status) && WEXITSTATUS(*status) == 0) return text_in(output.get());
  std::string said = TRY(text_in(errors.get()));
  constexpr std::size_t kShown = 2000;
  if (said.size() > kShown) said.erase(0, said.size() - kShown);
  return failure(ErrorCode::Unavailable,
                 fmt::format("{} failed: {}", command.arguments.front(), said));
}

}  // namespace nutshell::images
