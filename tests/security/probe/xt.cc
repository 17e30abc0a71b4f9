// XT: two sandboxes side by side. `plant` leaves marks in one, and the probes look for them in the
// other. The token is part of all their names.
#include <arpa/inet.h>
#include <fcntl.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstring>

#include "probe.h"

namespace nutshell::probe {
namespace {

constexpr key_t kSegmentKey = 0x4E55545;

std::vector<std::string> marked_files(const std::string& token) {
  std::vector<std::string> files;
  for (const auto* directory :
       {"/tmp", "/var/tmp", "/dev/shm", "/run", "/workspace", "/home", "/root", "."}) {
    files.push_back(std::string(directory) + "/" + token);
  }
  return files;
}

int abstract_socket(const std::string& token, sockaddr_un& address) {
  address.sun_family = AF_UNIX;
  const std::size_t size = std::min(token.size(), sizeof(address.sun_path) - 1);
  std::memcpy(&address.sun_path[1], token.data(), size);
  return ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

socklen_t abstract_size(const std::string& token) {
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + token.size());
}

sockaddr_in loopback(const std::string& port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(parse_size(port)));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int plant_files(const std::string& token) {
  int planted = 0;
  for (const auto& path : marked_files(token)) {
    const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
    if (file.is_open()) ++planted;
  }
  return planted;
}

// Keeps the descriptors open until the process ends, while the probes run in the other sandbox.
int plant_channels(const std::string& token, const std::string& port) {
  int planted = 0;
  sockaddr_un name{};
  const int named = abstract_socket(token, name);
  if (::bind(named, reinterpret_cast<const sockaddr*>(&name), abstract_size(token)) == 0 &&
      ::listen(named, 4) == 0) {
    ++planted;
  }
  const sockaddr_in address = loopback(port);
  const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::bind(server, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 &&
      ::listen(server, 4) == 0) {
    ++planted;
  }
  if (::shmget(kSegmentKey, 4096, IPC_CREAT | 0666) >= 0) ++planted;
  if (::mq_open(("/" + token).c_str(), O_RDWR | O_CREAT, 0666, nullptr) >= 0) ++planted;
  return planted;
}

// Files that every sandbox can read; all but the root are also the host's.
std::vector<std::string> files_to_lock() {
  return {"/",    "/etc",     "/etc/passwd",  "/etc/ssl/certs",
          "/usr", "/usr/bin", "/usr/bin/env", "/usr/lib/os-release"};
}

// Locks the files until the process ends. Returns how many it could lock.
int plant_locks() {
  int planted = 0;
  for (const auto& path : files_to_lock()) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file >= 0 && ::flock(file, LOCK_EX | LOCK_NB) == 0) ++planted;
    struct flock region {};
    region.l_type = F_RDLCK;
    if (file >= 0) (void)::fcntl(file, F_OFD_SETLK, &region);
  }
  return planted;
}

// If the lock is refused, another sandbox holds it, so both have the same inode.
Verdict neighbour_locks(const Arguments& /*arguments*/) {
  Findings findings;
  for (const auto& path : files_to_lock()) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.is_open()) continue;
    const bool is_free = ::flock(file.get(), LOCK_EX | LOCK_NB) == 0;
    findings.add(is_free ? refused(path + " has no lock of a neighbour")
                         : opened(path + " is locked by a neighbour"));
  }
  return findings.verdict();
}

// The test opens the file on the host meanwhile.
Verdict foreign_opens(const Arguments& arguments) {
  const Descriptor watcher(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (::inotify_add_watch(watcher.get(), arguments[0].c_str(), IN_OPEN | IN_ACCESS) < 0)
    return refused("inotify_add_watch " + error_name(errno));
  pollfd wait{watcher.get(), POLLIN, 0};
  return ::poll(&wait, 1, 1000) > 0 ? opened(arguments[0] + ": saw it being opened")
                                    : refused("saw nothing");
}

Verdict neighbour_files(const Arguments& arguments) {
  Findings findings;
  for (const auto& path : marked_files(arguments[0]))
    findings.add(try_open(path, O_RDONLY));
  findings.add(try_open("/dev/mqueue/" + arguments[0], O_RDONLY));
  return findings.verdict();
}

Verdict neighbour_processes(const Arguments& arguments) {
  const std::string token = arguments[0].substr(0, 15);  // the longest name of a process
  Findings findings;
  for (const int process : visible_processes()) {
    const std::string entry = "/proc/" + std::to_string(process) + "/comm";
    const bool is_neighbour = read_text(entry).value_or("") == token + "\n";
    findings.add(is_neighbour ? opened(entry + " is the neighbour") : refused("not among them"));
  }
  return findings.verdict();
}

Verdict neighbour_channels(const Arguments& arguments) {
  const Rules nobody{.refusals = {ECONNREFUSED, ENOENT, EACCES, EPERM, ENOSYS}};
  Findings findings;
  findings.add(try_call(
      "abstract socket",
      [&] {
        sockaddr_un name{};
        const int client = abstract_socket(arguments[0], name);
        return ::connect(client, reinterpret_cast<const sockaddr*>(&name),
                         abstract_size(arguments[0]));
      },
      nobody));
  findings.add(try_call(
      "loopback port",
      [&] {
        const sockaddr_in address = loopback(arguments[1]);
        const int client = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        return ::connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
      },
      nobody));
  findings.add(try_call(
      "segment", [] { return ::shmget(kSegmentKey, 0, 0); }, nobody));
  findings.add(try_call(
      "queue", [&] { return ::mq_open(("/" + arguments[0]).c_str(), O_RDONLY); }, nobody));
  return findings.verdict();
}

// Neither of two sandboxes may change what both read.
Verdict poison_shared_layers(const Arguments&) {
  Findings findings;
  for (const auto* path : {"/usr/bin/env", "/usr/lib/os-release", "/etc/passwd", "/etc/ld.so.cache",
                           "/etc/ld.so.preload", "/etc/profile", "/bin/sh"}) {
    findings.add(try_open(path, O_WRONLY));
  }
  return findings.verdict();
}

}  // namespace

int plant(const Arguments& arguments) {
  if (arguments.size() != 3) return 2;
  (void)::prctl(PR_SET_NAME, arguments[0].substr(0, 15).c_str());
  const int files = plant_files(arguments[0]);
  const int channels = plant_channels(arguments[0], arguments[1]);
  const int locks = plant_locks();
  std::printf("PLANTED %d files %d channels %d locks\n", files, channels, locks);
  std::fflush(stdout);
  ::sleep(static_cast<unsigned>(parse_size(arguments[2])));
  return 0;
}

Probes neighbour_probes() {
  return {
      {"XT-01", "neighbour-files", "see files of a running neighbour", "TOKEN", neighbour_files},
      {"XT-02", "leftovers", "see files of an earlier sandbox", "TOKEN", neighbour_files},
      {"XT-03", "neighbour-processes", "see processes of a neighbour", "TOKEN",
       neighbour_processes},
      {"XT-04", "channels", "sockets, ports, segments, queues of a neighbour", "TOKEN PORT",
       neighbour_channels},
      {"XT-13", "neighbour-locks", "see locks of a neighbour", "", neighbour_locks},
      {"XT-14", "foreign-opens", "see which files the host opens", "FILE", foreign_opens},
      {"XT-07", "shared-layers", "change what other sandboxes read", "", poison_shared_layers},
  };
}

}  // namespace nutshell::probe
