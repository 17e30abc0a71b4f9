#include "backends/native/cgroups/cgroup.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "backends/native/cgroups/cgroup_limits.h"
#include "backends/native/cgroups/cgroup_name.h"
#include "backends/native/cgroups/cgroup_v2_place.h"
#include "backends/native/processes/kept_descriptors.h"
#include "base/file.h"

namespace nutshell::native {
namespace {

// A sweep of another process may take the empty parent away between two attempts.
constexpr int kMostAttempts = 16;
constexpr std::chrono::milliseconds kPatienceOfDestructor{1000};

std::string path_below_place(const std::string& name) {
  return fmt::format("{}/{}", kCgroupParent, name);
}

Result<> make_parent(const CgroupPlace& place) {
  if (::mkdirat(place.directory.get(), kCgroupParent, 0755) != 0 && errno != EEXIST) {
    return syscall_failure("mkdir", fmt::format("{}/{}", place.path, kCgroupParent));
  }
  return {};
}

bool has_controllers(const CgroupDirectory& directory) {
  const auto has = [&](const char* file) {
    return ::faccessat(directory.fd.get(), file, F_OK, 0) == 0;
  };
  return (!directory.roles.memory || has("memory.max")) &&
         (!directory.roles.pids || has("pids.max")) && (!directory.roles.cpu || has("cpu.max"));
}

// The parent may be new, made by another process a moment ago, or left by one with fewer wishes.
Result<> pass_controllers_on(const CgroupPlace& place, const CgroupDirectory& directory) {
  if (has_controllers(directory)) return {};
  const UniqueFd parent =
      TRY(open_at(place.directory.get(), kCgroupParent, O_RDONLY | O_DIRECTORY));
  (void)enable_controllers(parent.get(), place.controllers);  // judged by the result
  if (has_controllers(directory)) return {};
  return failure(ErrorCode::Unsupported,
                 fmt::format("{}/{} does not pass its controllers on", place.path, kCgroupParent));
}

}  // namespace

Result<Cgroup> Cgroup::create(const CgroupHost& host, std::string name) {
  if (!parse_cgroup_name(name)) {
    return failure(ErrorCode::InvalidArgument, fmt::format("'{}' is no name of a cgroup", name));
  }
  if (host.places().empty()) return failure(ErrorCode::Unsupported, host.why_not());
  Cgroup cgroup(std::move(name));
  for (const auto& place : host.places())
    TRY(cgroup.add_directory(place));
  TRY(cgroup.open_joins());
  return cgroup;
}

Result<Cgroup> Cgroup::adopt(const CgroupHost& host, std::string name) {
  if (!parse_cgroup_name(name)) {
    return failure(ErrorCode::InvalidArgument, fmt::format("'{}' is no name of a cgroup", name));
  }
  const std::string path = path_below_place(name);
  Cgroup cgroup(std::move(name));
  for (const auto& place : host.places()) {
    auto fd = open_at(place.directory.get(), path.c_str(), O_RDONLY | O_DIRECTORY);
    if (fd) cgroup.directories_.push_back({place.version, place.roles, std::move(*fd)});
  }
  if (cgroup.directories_.empty()) return failure(ErrorCode::NotFound, "no cgroup " + cgroup.name_);
  return cgroup;
}

Cgroup::~Cgroup() {
  if (directories_.empty()) return;
  // Nobody is left to be told; the name says whose it was, and the next sweep tries again.
  (void)remove(Deadline::in(kPatienceOfDestructor));
}

Result<> Cgroup::add_directory(const CgroupPlace& place) {
  const std::string path = path_below_place(name_);
  int attempts = 0;
  while (::mkdirat(place.directory.get(), path.c_str(), 0755) != 0) {
    if (errno != ENOENT || ++attempts > kMostAttempts) {
      return syscall_failure("mkdir", fmt::format("{}/{}", place.path, path));
    }
    TRY(make_parent(place));
  }
  auto fd = open_at(place.directory.get(), path.c_str(), O_RDONLY | O_DIRECTORY);
  if (!fd) {
    ::unlinkat(place.directory.get(), path.c_str(), AT_REMOVEDIR);
    return explain(std::move(fd).error());
  }
  directories_.push_back({place.version, place.roles, std::move(*fd)});
  if (place.version == CgroupVersion::V2) TRY(pass_controllers_on(place, directories_.back()));
  return {};
}

Result<> Cgroup::open_joins() {
  for (const auto& directory : directories_) {
    const char* file = directory.version == CgroupVersion::V2 ? "cgroup.procs" : "tasks";
    join_files_.push_back(TRY(open_at(directory.fd.get(), file, O_WRONLY)));
    joins_.push_back(join_files_.back().get());
  }
  return {};
}

Result<> Cgroup::renumber(int least) {
  for (CgroupDirectory& directory : directories_)
    TRY(native::renumber(directory.fd, least));
  joins_.clear();
  for (UniqueFd& file : join_files_) {
    TRY(native::renumber(file, least));
    joins_.push_back(file.get());
  }
  return native::renumber(peak_file_, least);
}

const CgroupDirectory* Cgroup::directory_for(bool CgroupRoles::*role) const {
  const auto found =
      std::find_if(directories_.begin(), directories_.end(),
                   [&](const CgroupDirectory& directory) { return directory.roles.*role; });
  return found == directories_.end() ? nullptr : &*found;
}

Failure Cgroup::explain(Error error) const {
  return while_doing(fmt::format("cgroup {}", name_), std::move(error));
}

Result<> Cgroup::apply(const Limits& limits) {
  // Forgotten while it is written: after a failure nobody knows what is in force.
  const auto* memory = directory_for(&CgroupRoles::memory);
  if (memory != nullptr && memory_limit_ != limits.memory_bytes) {
    const auto present = std::exchange(memory_limit_, std::nullopt);
    auto written = write_memory_limit(*memory, present, limits.memory_bytes);
    if (!written) return explain(std::move(written).error());
    memory_limit_ = limits.memory_bytes;
  }
  const auto* pids = directory_for(&CgroupRoles::pids);
  if (pids != nullptr && process_limit_ != limits.processes) {
    process_limit_.reset();
    auto written = write_process_limit(*pids, std::uint64_t{limits.processes} + 1);  // and init
    if (!written) return explain(std::move(written).error());
    process_limit_ = limits.processes;
  }
  const auto* cpu = directory_for(&CgroupRoles::cpu);
  if (cpu != nullptr && millicpus_ != limits.millicpus) {
    millicpus_.reset();
    auto written = write_cpu_limit(*cpu, limits.millicpus);
    if (!written) return explain(std::move(written).error());
    millicpus_ = limits.millicpus;
  }
  return {};
}

int Cgroup::clone_directory() const {
  if (directories_.empty() || directories_.back().version != CgroupVersion::V2) return -1;
  return directories_.back().fd.get();
}

std::span<const int> Cgroup::join_descriptors_after_clone() const {
  const std::span<const int> all = joins_;
  return clone_directory() < 0 ? all : all.first(all.size() - 1);
}

int Cgroup::join_by(std::span<const int> descriptors) noexcept {
  for (const int fd : descriptors) {
    if (::write(fd, "0", 1) != 1) return errno;
  }
  return 0;
}

Result<> Cgroup::join_self() const {
  const int error = join_by(joins_);
  if (error != 0) return syscall_failure(error, "join cgroup", name_);
  return {};
}

Result<> Cgroup::remove(const Deadline& deadline) {
  const std::string path = "../" + name_;  // holds whatever becomes of CgroupHost
  const auto remove_at_once = [&](const CgroupDirectory& directory) {
    return ::unlinkat(directory.fd.get(), path.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT;
  };
  std::erase_if(directories_, remove_at_once);
  if (directories_.empty()) return {};
  auto killed = kill_directories(deadline);
  for (const auto& directory : directories_) {
    auto removed = remove_directory(directory.fd.get(), path, deadline);
    if (!removed && killed) killed = std::move(removed);
  }
  if (!killed) return explain(std::move(killed).error());
  directories_.clear();
  return {};
}

}  // namespace nutshell::native
