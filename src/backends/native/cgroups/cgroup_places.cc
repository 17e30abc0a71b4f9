#include "backends/native/cgroups/cgroup_places.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>

#include "backends/native/cgroups/cgroup_sweep.h"
#include "base/directory.h"

namespace nutshell::native {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRecords = "cgroups";

// "1/sys/fs/cgroup/memory/a\n2/sys/fs/cgroup/unified/b": the version, then the path.
std::string text_of(const CgroupHost& host) {
  std::string text;
  for (const CgroupPlace& place : host.places()) {
    if (!text.empty()) text += '\n';
    text += place.version == CgroupVersion::V1 ? '1' : '2';
    text += place.path;
  }
  return text;
}

CgroupHost host_of(std::string_view text) {
  std::vector<std::pair<CgroupVersion, std::string>> places;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.size() < 2 || line[1] != '/') continue;
    places.emplace_back(line[0] == '1' ? CgroupVersion::V1 : CgroupVersion::V2, line.substr(1));
  }
  return CgroupHost::reopen(places);
}

// Adds a group that is left in several hierarchies once.
void add(SweepReport& all, const SweepReport& more) {
  for (const std::string& name : more.removed) {
    if (std::find(all.removed.begin(), all.removed.end(), name) == all.removed.end())
      all.removed.push_back(name);
  }
  all.failed.insert(all.failed.end(), more.failed.begin(), more.failed.end());
}

}  // namespace

Result<> record_cgroup_places(const RuntimeDirectory& directory, const CgroupHost& host) {
  const std::string text = text_of(host);
  if (text.empty()) return {};
  const fs::path records = directory.path / kRecords;
  const fs::path record = records / fmt::format("{:016x}", std::hash<std::string>{}(text));
  if (::symlink(text.c_str(), record.c_str()) == 0 || errno == EEXIST) return {};
  if (errno != ENOENT) return syscall_failure("record", record.native());
  TRY(make_directory(records));
  if (::symlink(text.c_str(), record.c_str()) == 0 || errno == EEXIST) return {};
  return syscall_failure("record", record.native());
}

SweepReport sweep_all_cgroups(const RuntimeDirectory& directory, const CgroupHost& own,
                              SweepMode mode) {
  SweepReport report = sweep_cgroups(own, mode);
  const std::string own_places = text_of(own);
  std::error_code error;
  for (const fs::directory_entry& record :
       fs::directory_iterator(directory.path / kRecords, error)) {
    const fs::path text = fs::read_symlink(record.path(), error);
    if (error || text.native() == own_places) continue;
    const CgroupHost host = host_of(text.native());
    add(report, sweep_cgroups(host, mode));
    // A place that is gone holds no groups: the record is replaced by one of the places left.
    const bool is_whole = text_of(host) == text.native();
    if (mode == SweepMode::DryRun || is_whole) continue;
    if (record_cgroup_places(directory, host)) ::unlink(record.path().c_str());
  }
  return report;
}

}  // namespace nutshell::native
