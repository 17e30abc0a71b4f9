#include "roche/discovery.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/file.h"

namespace nutshell::roche {

Result<std::filesystem::path> discovery_file() {
  const char* home = std::getenv("HOME");  // NOLINT(concurrency-mt-unsafe): before any thread
  if (home == nullptr || *home != '/') {
    return failure(ErrorCode::InvalidArgument, "HOME names no directory for .roche/daemon.json");
  }
  return std::filesystem::path(home) / ".roche/daemon.json";
}

Result<DaemonInfo> read_discovery(const std::filesystem::path& path) {
  constexpr std::size_t kMostBytes = 4096;
  const auto body = nlohmann::json::parse(TRY(read_file(path, kMostBytes)), nullptr, false);
  const auto number = [&](const char* name, std::int64_t most) -> std::int64_t {
    if (!body.is_object() || !body.contains(name) || !body[name].is_number_integer()) return 0;
    const auto value = body[name].get<std::int64_t>();
    return value > 0 && value <= most ? value : 0;
  };
  const DaemonInfo info{static_cast<pid_t>(number("pid", INT32_MAX)),
                        static_cast<std::uint16_t>(number("port", UINT16_MAX))};
  if (info.pid != 0 && info.port != 0) return info;
  return failure(ErrorCode::Corrupt, fmt::format("{} names no daemon", path.native()));
}

Result<> write_discovery(const std::filesystem::path& path, const DaemonInfo& info) {
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  if (error) return syscall_failure(error.value(), "make", path.parent_path().native());
  const std::filesystem::path fresh = fmt::format("{}.{}", path.native(), ::getpid());
  TRY(write_file(fresh, fmt::format("{{\"pid\":{},\"port\":{}}}\n", info.pid, info.port), 0600));
  std::filesystem::rename(fresh, path, error);
  if (error) return syscall_failure(error.value(), "rename", fresh.native());
  return {};
}

void remove_discovery(const std::filesystem::path& path, pid_t own) {
  const auto info = read_discovery(path);
  if (info && info->pid == own) ::unlink(path.c_str());
}

}  // namespace nutshell::roche
