#include "runtime/apply_record.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <charconv>

#include "base/file.h"
#include "base/user_directory.h"

namespace nutshell {
namespace {

constexpr std::size_t kMostRecordBytes = 512U << 20U;

Result<std::filesystem::path> record_path(const std::string& sandbox_id) {
  return TRY(open_user_directory()) / ("applied-" + sandbox_id);
}

// "NANOSECONDS PATH" and a zero byte, for each.
AppliedTimes parse(std::string_view text) {
  AppliedTimes times;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\0'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t space = line.find(' ');
    std::int64_t time = 0;
    const auto [stopped, error] = std::from_chars(line.data(), line.data() + line.size(), time);
    if (space == std::string_view::npos || error != std::errc()) continue;
    times[std::string(line.substr(space + 1))] = time;
  }
  return times;
}

}  // namespace

Result<AppliedTimes> ApplyRecord::read() const {
  auto text = read_file(TRY(record_path(sandbox_id_)), kMostRecordBytes);
  if (text) return parse(*text);
  if (text.error().code == ErrorCode::NotFound) return AppliedTimes();
  return Failure(std::move(text).error());
}

Result<> ApplyRecord::add(const AppliedTimes& applied) const {
  if (applied.empty()) return {};
  AppliedTimes all = TRY(read());
  for (const auto& [path, time] : applied)
    all[path] = time;
  std::string text;
  for (const auto& [path, time] : all) {
    text += fmt::format("{} {}", time, path);
    text += '\0';
  }
  const auto path = TRY(record_path(sandbox_id_));
  const std::string temporary = path.native() + ".new";
  TRY(write_file(temporary, text, 0600));
  if (::rename(temporary.c_str(), path.c_str()) != 0) return syscall_failure("rename", temporary);
  return {};
}

}  // namespace nutshell
