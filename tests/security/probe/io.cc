// IO: attacks through the standard streams.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "probe.h"

namespace nutshell::probe {
namespace {

const char* kind_of(mode_t mode) {
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISCHR(mode)) return "a character device";
  return S_ISREG(mode) ? "a file" : "something else";
}

Verdict stream_is_no_file(int number) {
  const std::string name = "descriptor " + std::to_string(number) + " is ";
  struct stat about {};
  if (::fstat(number, &about) != 0) return unexpected(name + "closed");
  if (S_ISREG(about.st_mode) || S_ISDIR(about.st_mode) || S_ISBLK(about.st_mode)) {
    return opened(name + link_target("/proc/self/fd/" + std::to_string(number)));
  }
  if (::lseek(number, 0, SEEK_CUR) >= 0 && !S_ISCHR(about.st_mode))
    return opened(name + "seekable");
  return refused(name + kind_of(about.st_mode));
}

Verdict streams_are_no_files(const Arguments&) {
  Findings findings;
  for (const int number : {0, 1, 2})
    findings.add(stream_is_no_file(number));
  return findings.verdict();
}

// The pointer is invalid on purpose: EFAULT means that the terminal would accept the byte.
Verdict push_into_terminal(const Arguments&) {
  auto* nowhere = reinterpret_cast<void*>(1);
  Findings findings;
  for (const int number : {0, 1, 2}) {
    const std::string name = " on descriptor " + std::to_string(number);
    findings.add(try_call(
        "TIOCSTI" + name, [&] { return ::ioctl(number, TIOCSTI, nowhere); },
        let_through({EFAULT})));
    findings.add(try_call(
        "TIOCLINUX" + name, [&] { return ::ioctl(number, TIOCLINUX, nowhere); },
        let_through({EFAULT})));
  }
  findings.add(try_open("/dev/tty", O_RDWR, path_rules({ENXIO})));
  return findings.verdict();
}

}  // namespace

Probes stream_probes() {
  return {
      {"IO-05", "stream-files", "find a host file behind the standard streams", "",
       streams_are_no_files},
      {"IO-07", "terminal-input", "TIOCSTI and TIOCLINUX into the caller's terminal", "",
       push_into_terminal},
  };
}

}  // namespace nutshell::probe
