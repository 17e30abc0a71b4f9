#include "init/files/running.h"

#include <fmt/format.h>

#include "base/file.h"
#include "init/exec/process_marks.h"
#include "init/files/attempt.h"

namespace nutshell::init {

std::string describe_running() {
  const auto living = ProcessMarks().living(ProcessMarks::kAnyMark);
  if (living.empty()) return {};
  std::string name = "a process";
  if (auto comm = read_file(fmt::format("/proc/{}/comm", living.front()))) name = *comm;
  if (name.ends_with('\n')) name.pop_back();
  std::string first = fmt::format("{} (pid {})", printable(name), living.front());
  const std::size_t others = living.size() - 1;
  if (others == 0) return first;
  return fmt::format("{} and {} other{}", first, others, others == 1 ? "" : "s");
}

}  // namespace nutshell::init
