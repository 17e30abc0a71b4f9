#include "runtime/apply_record.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>

#include "base/file.h"
#include "base/user_directory.h"

namespace nutshell {
namespace {

constexpr const char* kPrefix = "applied-";
constexpr const char* kUnfinished = ".new";
constexpr std::size_t kMostRecordBytes = 512U << 20U;

Result<std::filesystem::path> record_path(const std::string& sandbox_id) {
  return TRY(open_user_directory()) / (kPrefix + sandbox_id);
}

// Parses the file format: "NANOSECONDS PATH" and a zero byte for each file.
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
  const std::string temporary = path.native() + kUnfinished;
  TRY(write_file(temporary, text, 0600));
  if (::rename(temporary.c_str(), path.c_str()) != 0) return syscall_failure("rename", temporary);
  return {};
}

Result<> ApplyRecord::remove() const {
  const auto path = TRY(record_path(sandbox_id_));
  for (const std::string& name : {path.native(), path.native() + kUnfinished}) {
    if (::unlink(name.c_str()) != 0 && errno != ENOENT) return syscall_failure("remove", name);
  }
  return {};
}

void sweep_apply_records(const MayLive& may_live, SweepMode mode, SweepReport& report) {
  const auto place = open_user_directory();
  if (!place) return;
  std::error_code error;
  std::set<std::string> recorded;
  for (const auto& item : std::filesystem::directory_iterator(*place, error)) {
    const std::string name = item.path().filename().native();
    if (!name.starts_with(kPrefix)) continue;
    const std::string rest = name.substr(std::string_view(kPrefix).size());
    recorded.insert(rest.substr(0, rest.find('.')));
  }
  for (const std::string& id : recorded) {
    if (may_live(id)) continue;
    const bool is_gone = mode == SweepMode::DryRun || ApplyRecord(id).remove();
    (is_gone ? report.removed : report.failed)
        .push_back(fmt::format("record of what was applied from sandbox {}", id));
  }
}

}  // namespace nutshell
