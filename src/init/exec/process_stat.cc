#include "init/exec/process_stat.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <string_view>

#include "base/unique_fd.h"

namespace nutshell::init {
namespace {

std::string_view next_field(std::string_view& fields) {
  fields.remove_prefix(std::min(fields.find_first_not_of(' '), fields.size()));
  const std::string_view field = fields.substr(0, fields.find(' '));
  fields.remove_prefix(field.size());
  return field;
}

long to_number(std::string_view text) {
  long number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

std::optional<ProcessStat> read_process_stat(int proc, pid_t pid) {
  const UniqueFd fd(::openat(proc, fmt::format("{}/stat", pid).c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 512> buffer{};
  const ssize_t count = fd ? ::read(fd.get(), buffer.data(), buffer.size()) : -1;
  if (count <= 0) return std::nullopt;
  std::string_view fields(buffer.data(), static_cast<std::size_t>(count));
  // The name may hold any bytes, also spaces and parentheses: so fields are counted from the last
  // parenthesis.
  const std::size_t name_end = fields.rfind(')');
  if (name_end == std::string_view::npos) return std::nullopt;
  fields.remove_prefix(name_end + 1);
  ProcessStat stat;
  const std::string_view state = next_field(fields);
  if (!state.empty()) stat.state = state.front();
  stat.parent = static_cast<pid_t>(to_number(next_field(fields)));
  constexpr int kBetween = 9;  // from its process group to the page faults of its children
  for (int i = 0; i < kBetween; ++i)
    next_field(fields);
  for (int i = 0; i < 4; ++i)
    stat.cpu_ticks += to_number(next_field(fields));
  next_field(fields);  // priority
  next_field(fields);  // niceness
  stat.threads = to_number(next_field(fields));
  return stat;
}

}  // namespace nutshell::init
