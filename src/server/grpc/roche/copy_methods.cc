// CopyTo and CopyFrom: files between this machine and a sandbox, named by a client of the daemon's
// own user.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/defer.h"
#include "base/file.h"
#include "base/random_id.h"
#include "roche/v1/sandbox.pb.h"
#include "server/grpc/roche/roche_methods.h"
#include "service/sandboxes/sandbox_files.h"

namespace nutshell::server {
namespace {

namespace fs = std::filesystem;
namespace v1 = ::roche::v1;

Result<> check_copy(const RpcCall& call, const std::string& host, const std::string& inside) {
  if (call.caller.host_files != service::HostFiles::Allowed) {
    return failure(ErrorCode::PermissionDenied,
                   "only callers on the daemon's own machine and of its user may name files of it");
  }
  if (!host.starts_with('/') || host.find('\0') != std::string::npos) {
    return failure(ErrorCode::InvalidArgument, "host_path is an absolute path on this machine");
  }
  if (!inside.starts_with('/')) {
    return failure(ErrorCode::InvalidArgument, "sandbox_path is an absolute path in the sandbox");
  }
  return {};
}

Failure only_files(const std::string& path) {
  return failure(ErrorCode::Unsupported,
                 fmt::format("{} is no file: the command 'roche cp' copies directories", path));
}

// The name that a file gets in a directory: the last part of where it comes from.
std::string name_in(const std::string& directory, const std::string& source) {
  return (fs::path(directory) / fs::path(source).filename()).native();
}

Result<> copy_to(RpcCall& call) {
  const auto& request = static_cast<const v1::CopyToRequest&>(call.request);
  TRY(check_copy(call, request.host_path(), request.sandbox_path()));
  // Not blocking: the path may be a FIFO.
  const UniqueFd input = TRY(open_file(request.host_path(), O_RDONLY | O_NONBLOCK));
  struct stat found {};
  if (::fstat(input.get(), &found) != 0) return syscall_failure("stat", request.host_path());
  if (!S_ISREG(found.st_mode)) return only_files(request.host_path());
  auto& files = call.service.files();
  wire::WriteFile file;
  file.path = request.sandbox_path();
  file.mode = found.st_mode & 0777U;
  const auto there = files.stat(call.caller, request.sandbox_id(), file.path);
  if (there && there->kind == wire::FileKind::Directory) {
    file.path = name_in(file.path, request.host_path());
  } else if (!there && there.error().code != ErrorCode::NotFound) {
    return Failure(there.error());
  }
  const auto read = [&](std::size_t most) -> Result<std::string> {
    std::string piece(most, '\0');
    ssize_t count = -1;
    do {
      count = ::read(input.get(), piece.data(), piece.size());
    } while (count < 0 && errno == EINTR);
    if (count < 0) return syscall_failure("read", request.host_path());
    piece.resize(static_cast<std::size_t>(count));
    return piece;
  };
  return files.write(call.caller, request.sandbox_id(), file, read);
}

// Writes a new file and renames it, so that a link at the target is replaced and not followed.
Result<> copy_from(RpcCall& call) {
  const auto& request = static_cast<const v1::CopyFromRequest&>(call.request);
  TRY(check_copy(call, request.host_path(), request.sandbox_path()));
  auto& files = call.service.files();
  const wire::FileInfo info =
      TRY(files.stat(call.caller, request.sandbox_id(), request.sandbox_path()));
  if (info.kind != wire::FileKind::Regular) return only_files(request.sandbox_path());
  std::error_code ignored;
  std::string target = request.host_path();
  if (fs::is_directory(target, ignored)) target = name_in(target, request.sandbox_path());
  const std::string fresh = target + "." + random_id(12);
  const UniqueFd output =
      TRY(open_file(fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, info.mode & 0777U));
  Defer cleanup([&] { ::unlink(fresh.c_str()); });
  wire::ReadFile file;
  file.path = request.sandbox_path();
  file.length = info.size;
  if (info.size > 0) {
    TRY(files.read(call.caller, request.sandbox_id(), file,
                   [&](std::string_view bytes) { return write_all(output.get(), bytes); }));
  }
  if (::rename(fresh.c_str(), target.c_str()) != 0) return syscall_failure("rename", target);
  cleanup.release();
  return {};
}

}  // namespace

std::vector<Method> roche_copy_methods() {
  return {{"CopyTo", copy_to}, {"CopyFrom", copy_from}};
}

}  // namespace nutshell::server
