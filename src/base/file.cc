#include "base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>

namespace nutshell {

Result<UniqueFd> open_at(int directory, const char* path, int flags, unsigned mode) {
  const int fd = ::openat(directory, path, flags | O_CLOEXEC, mode);
  if (fd < 0) return syscall_failure("open", path);
  return UniqueFd(fd);
}

Result<UniqueFd> open_file(const std::filesystem::path& path, int flags, unsigned mode) {
  return open_at(AT_FDCWD, path.c_str(), flags, mode);
}

Result<std::string> read_all(int fd, std::size_t limit) {
  std::string bytes;
  std::array<char, 16384> chunk{};
  for (;;) {
    const ssize_t count = ::read(fd, chunk.data(), chunk.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return syscall_failure("read");
    if (count == 0) return bytes;
    bytes.append(chunk.data(), static_cast<std::size_t>(count));
    if (bytes.size() > limit) {
      return failure(ErrorCode::ResourceExhausted, fmt::format("longer than {} bytes", limit));
    }
  }
}

Result<std::string> read_file_at(int directory, const char* path, std::size_t limit) {
  const UniqueFd fd = TRY(open_at(directory, path, O_RDONLY));
  auto bytes = read_all(fd.get(), limit);
  if (!bytes) return while_doing(path, std::move(bytes).error());
  return bytes;
}

Result<std::string> read_file(const std::filesystem::path& path, std::size_t limit) {
  return read_file_at(AT_FDCWD, path.c_str(), limit);
}

Result<> write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return syscall_failure("write");
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

Result<> write_file(const std::filesystem::path& path, std::string_view bytes, unsigned mode) {
  const UniqueFd fd = TRY(open_file(path, O_WRONLY | O_CREAT | O_TRUNC, mode));
  auto written = write_all(fd.get(), bytes);
  if (!written) return while_doing(path.native(), std::move(written).error());
  return {};
}

Result<> write_value_at(int directory, const char* name, std::string_view value) {
  const UniqueFd fd = TRY(open_at(directory, name, O_WRONLY));
  if (::write(fd.get(), value.data(), value.size()) < 0) {
    return syscall_failure(fmt::format("write '{}' to", value), name);
  }
  return {};
}

Result<> write_value(const std::filesystem::path& path, std::string_view value) {
  return write_value_at(AT_FDCWD, path.c_str(), value);
}

Result<> set_nonblocking(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0) {
    return syscall_failure("fcntl O_NONBLOCK");
  }
  return {};
}

Result<bool> wait_for(int fd, short events, const Deadline& deadline) {
  pollfd entry{fd, events, 0};
  for (;;) {
    const int ready = ::poll(&entry, 1, deadline.poll_timeout());
    if (ready > 0) return true;
    if (ready == 0) return false;
    if (errno != EINTR) return syscall_failure("poll");
  }
}

}  // namespace nutshell
