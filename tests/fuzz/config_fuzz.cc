#include <fmt/format.h>
#include <sys/mman.h>

#include "base/file.h"
#include "cli/flags.h"
#include "entry_points.h"

namespace nutshell::fuzz {

void fuzz_config(std::string_view input) {
  const UniqueFd file(::memfd_create("config", MFD_CLOEXEC));
  if (!file || !write_all(file.get(), input)) return;
  cli::Flags flags;
  flags.config = fmt::format("/proc/self/fd/{}", file.get());
  if (!cli::read_config(flags)) return;
  flags.command = {"true"};
  (void)cli::to_spec(flags);
  (void)cli::to_exec(flags);
}

}  // namespace nutshell::fuzz
