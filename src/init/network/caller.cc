#include "init/network/caller.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>

#include "base/file.h"

namespace nutshell::init {
namespace {

// The number of the process that a thread belongs to; -1 if it is gone.
pid_t process_of(pid_t thread) {
  constexpr std::size_t kMostStatus = 16U << 10U;
  constexpr std::string_view kKey = "\nTgid:\t";
  const auto status = read_file(fmt::format("/proc/{}/status", thread), kMostStatus);
  if (!status) return -1;
  const std::size_t at = status->find(kKey);
  pid_t process = -1;
  if (at == std::string::npos) return -1;
  std::from_chars(status->data() + at + kKey.size(), status->data() + status->size(), process);
  return process;
}

UniqueFd open_process(pid_t thread) {
  constexpr unsigned kThread = O_EXCL;  // PIDFD_THREAD, of Linux 6.9
  const auto open = [](pid_t number, unsigned flags) {
    return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, number, flags)));
  };
  UniqueFd opened = open(thread, kThread);
  if (!opened) opened = open(thread, 0);  // works for the first thread of a process
  if (!opened) opened = open(process_of(thread), 0);
  return opened;
}

}  // namespace

std::string copy_memory(pid_t thread, std::uint64_t address, std::size_t size) {
  std::string copy(size, '\0');
  const iovec ours{copy.data(), size};
  // NOLINTNEXTLINE(performance-no-int-to-ptr): an address of another process
  const iovec theirs{reinterpret_cast<void*>(address), size};
  ssize_t count = ::process_vm_readv(thread, &ours, 1, &theirs, 1, 0);
  if (count < 0 && errno != EFAULT) {  // some engines refuse the call and leave the file
    const UniqueFd memory(
        ::open(fmt::format("/proc/{}/mem", thread).c_str(), O_RDONLY | O_CLOEXEC));
    count = memory ? ::pread(memory.get(), copy.data(), size, static_cast<off_t>(address)) : -1;
  }
  copy.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
  return copy;
}

UniqueFd take_descriptor(pid_t thread, int number) {
  const UniqueFd process = open_process(thread);
  if (!process) return UniqueFd();
  return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_getfd, process.get(), number, 0)));
}

}  // namespace nutshell::init
