// FS: reaching a file of the host by various paths.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstring>

#include "probe.h"

namespace nutshell::probe {
namespace {

constexpr int kClimbs = 256;

Verdict read_each(const Arguments& paths) {
  Findings findings;
  for (const auto& path : paths)
    findings.add(try_open(path, O_RDONLY));
  return findings.verdict();
}

Verdict through_every_process(const Arguments& arguments) {
  Findings findings;
  for (const int process : visible_processes()) {
    const std::string entry = "/proc/" + std::to_string(process);
    findings.add(try_open(entry + "/root" + arguments[0], O_RDONLY));
    findings.add(try_open(entry + "/cwd/../../../../.." + arguments[0], O_RDONLY));
  }
  return findings.verdict();
}

Verdict through_own_aliases(const Arguments& arguments) {
  const Descriptor root(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root.is_open()) return unexpected("cannot open / " + error_name(errno));
  const std::string number = std::to_string(root.get());
  const std::string self = std::to_string(::getpid());
  Findings findings;
  for (const auto& prefix :
       {std::string("/proc/self/root"), std::string("/proc/thread-self/root"),
        "/proc/self/task/" + self + "/root", "/proc/" + self + "/root", "/proc/self/fd/" + number,
        "/dev/fd/" + number, "/dev/fd/" + number + "/../..",
        std::string("/proc/self/cwd/../../../../../..")}) {
    findings.add(try_open(prefix + arguments[0], O_RDONLY));
  }
  return findings.verdict();
}

Verdict climb_by_descriptor(const std::string& canary) {
  int directory = ::open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  for (int step = 0; step < kClimbs && directory >= 0; ++step) {
    const int parent = ::openat(directory, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ::close(directory);
    directory = parent;
  }
  if (directory < 0) return unexpected("openat .. " + error_name(errno));
  const Descriptor top(directory);
  const Descriptor file(::openat(top.get(), canary.c_str() + 1, O_RDONLY | O_CLOEXEC));
  return judge("openat(..) × 256" + canary, file.get(), errno, path_rules());
}

Verdict climb(const Arguments& arguments) {
  std::string ladder;
  for (int step = 0; step < 64; ++step)
    ladder += "../";
  Findings findings;
  findings.add(try_open(ladder + arguments[0].substr(1), O_RDONLY));
  findings.add(climb_by_descriptor(arguments[0]));
  return findings.verdict();
}

Verdict break_out_of_chroot(const std::string& canary, const std::string& cell) {
  const Descriptor outside(::open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!outside.is_open()) return unexpected("open . " + error_name(errno));
  if (::mkdir(cell.c_str(), 0700) != 0) return unexpected("mkdir " + error_name(errno));
  if (::chroot(cell.c_str()) != 0) return judge("chroot", -1, errno);
  if (::fchdir(outside.get()) != 0) return refused("fchdir out of a chroot " + error_name(errno));
  for (int step = 0; step < kClimbs; ++step) {
    if (::chdir("..") != 0) break;
  }
  if (::chroot(".") != 0) return refused("second chroot " + error_name(errno));
  return try_open(canary, O_RDONLY);
}

Verdict chroot_break_out(const Arguments& arguments) {
  const ScratchPath cell("cell");
  return in_child([&] { return break_out_of_chroot(arguments[0], cell.get()); });
}

Verdict read_through_symlink(const Arguments& arguments) {
  const ScratchPath link("link");
  if (::symlink(arguments[0].c_str(), link.c_str()) != 0) {
    return unexpected("symlink " + error_name(errno));
  }
  return try_open(link.get(), O_RDONLY);
}

Verdict write_through_symlink(const Arguments& arguments) {
  const ScratchPath link("link");
  if (::symlink(parent_of(arguments[0]).c_str(), link.c_str()) != 0) {
    return unexpected("symlink " + error_name(errno));
  }
  const std::string victim = link.get() + "/nutshell-probe-victim";
  Verdict verdict = try_open(victim, O_WRONLY | O_CREAT | O_EXCL);
  if (verdict.outcome == Outcome::Open) ::unlink(victim.c_str());
  return verdict;
}

Verdict link_in(const Arguments& arguments) {
  Findings findings;
  for (const auto& source : {arguments[0], std::string("/usr/bin/env")}) {
    const ScratchPath link("hard");
    const int result = ::linkat(AT_FDCWD, source.c_str(), AT_FDCWD, link.c_str(), 0);
    findings.add(judge("linkat " + source, result, errno, path_rules({EXDEV})));
  }
  return findings.verdict();
}

Verdict rename_out(const Arguments& arguments) {
  const ScratchPath source("out");
  ::close(::open(source.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  Findings findings;
  for (const auto& directory :
       {parent_of(arguments[0]), std::string("/etc"), std::string("/usr")}) {
    const std::string target = directory + "/" + name_of(source.get());
    const int result = ::rename(source.c_str(), target.c_str());
    findings.add(judge("rename to " + directory, result, errno, path_rules({EXDEV})));
    if (result == 0) ::unlink(target.c_str());
  }
  return findings.verdict();
}

// ENXIO means that the FIFO exists without a reader; a read-only mount does not stop a writer.
Verdict write_to_fifo(const Arguments& arguments) {
  Rules rules = path_rules();
  rules.let_through = {ENXIO};
  return try_open(arguments[0], O_WRONLY | O_NONBLOCK, rules);
}

Verdict connect_to_socket_file(const Arguments& arguments) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (arguments[0].size() >= sizeof(address.sun_path)) return unexpected("the path is too long");
  std::memcpy(&address.sun_path[0], arguments[0].c_str(), arguments[0].size() + 1);
  const Descriptor client(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!client.is_open()) return judge("socket", -1, errno);
  const int result =
      ::connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  Rules rules = path_rules();
  rules.let_through = {ECONNREFUSED, EAGAIN};
  return judge("connect " + arguments[0], result, errno, rules);
}

Verdict working_directory(const Arguments& arguments) {
  Findings findings;
  std::string here(4096, '\0');
  const char* told = ::getcwd(here.data(), here.size());
  if (told == nullptr) return unexpected("getcwd " + error_name(errno));
  if (*told != '/') return opened(std::string("the working directory is ") + told);
  findings.add(refused(std::string("the working directory is ") + told));
  const std::string name = name_of(arguments[0]);
  for (const auto& path : {name, "../" + name, "../../" + name}) {
    findings.add(try_open(path, O_RDONLY));
  }
  return findings.verdict();
}

Verdict reopen(int process, const std::string& number, const std::string& canary) {
  const std::string path = "/proc/" + std::to_string(process) + "/fd/" + number;
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  if (!file.is_open()) return judge(path, -1, errno, path_rules({ENXIO}));
  if (process == 1) return opened(path + " -> " + link_target(path));
  std::string ladder;
  for (int step = 0; step < 64; ++step)
    ladder += "../";
  const Descriptor climbed(
      ::openat(file.get(), (ladder + canary.substr(1)).c_str(), O_RDONLY | O_CLOEXEC));
  return judge(path + "/../" + canary, climbed.get(), errno, path_rules());
}

Verdict reopen_foreign_descriptors(const Arguments& arguments) {
  Findings findings;
  for (const int process : visible_processes()) {
    if (process == ::getpid()) continue;
    const std::string table = "/proc/" + std::to_string(process) + "/fd";
    findings.add(process == 1 ? try_open(table, O_RDONLY | O_DIRECTORY)
                              : refused("process " + std::to_string(process)));
    for (const auto& number : entries_of(table)) {
      findings.add(reopen(process, number, arguments[0]));
    }
  }
  return findings.verdict();
}

Verdict aliases_of_denied(const Arguments& arguments) {
  const std::string& path = arguments[0];
  std::string upper = path;
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
  const std::string parent = parent_of(path);
  const std::string name = name_of(path);
  const ScratchPath hard("alias");
  Findings findings;
  if (::link(path.c_str(), hard.c_str()) == 0) findings.add(opened("a hard link"));
  for (const auto& alias :
       {path, path + "/", path + "/.", parent + "/./" + name, parent + "//" + name, "/" + path,
        parent + "/../" + name_of(parent) + "/" + name, "/usr/.." + path, "/proc/../" + path,
        upper}) {
    findings.add(try_open(alias, O_RDONLY));
  }
  return findings.verdict();
}

Verdict host_paths_in_mount_table(const Arguments& arguments) {
  Findings findings;
  for (const auto* table : {"/proc/self/mountinfo", "/proc/self/mounts", "/proc/self/mountstats",
                            "/proc/1/mountinfo", "/etc/mtab"}) {
    const auto text = read_text(table);
    if (!text) {
      findings.add(refused(std::string(table) + " does not open"));
      continue;
    }
    for (const auto& fragment : arguments) {
      const bool is_told = text->find(fragment) != std::string::npos;
      findings.add(is_told ? opened(fragment + " is told by " + table)
                           : refused(std::string(table) + " says nothing of it"));
    }
  }
  return findings.verdict();
}

Verdict shared_mounts(const Arguments&) {
  const auto table = read_text("/proc/self/mountinfo");
  if (!table || table->empty()) return refused("there is no mount table");
  const auto shared = table->find(" shared:");
  if (shared == std::string::npos) return refused("no mount is shared");
  const auto line = table->rfind('\n', shared) + 1;
  return opened(table->substr(line, table->find('\n', shared) - line));
}

}  // namespace

Probes file_path_probes() {
  return {
      {"FS-01", "host-home", "read a file in the host user's home", "CANARY...", read_each},
      {"FS-02", "host-temp", "read a file of a host temp directory", "CANARY...", read_each},
      {"FS-04", "proc-root", "reach a host file by /proc/PID/root and /proc/PID/cwd", "CANARY",
       through_every_process},
      {"FS-05", "own-aliases", "reach a host file by aliases of the own root", "CANARY",
       through_own_aliases},
      {"FS-06", "dot-dot", "climb out with ../ and openat(..)", "CANARY", climb},
      {"FS-07", "chroot-break-out", "the classic escape with a second chroot", "CANARY",
       chroot_break_out},
      {"FS-09", "symlink-read", "read through an absolute symlink", "CANARY", read_through_symlink},
      {"FS-10", "symlink-write", "create a file through a symlinked directory", "CANARY",
       write_through_symlink},
      {"FS-11", "link-in", "hard link a host file into the workspace", "CANARY", link_in},
      {"FS-12", "rename-out", "rename a file out to a host directory", "CANARY", rename_out},
      {"FS-17", "fifo", "write to a FIFO of the host", "FIFO", write_to_fifo},
      {"FS-18", "socket-file", "connect to a unix socket of the host by path", "SOCKET",
       connect_to_socket_file},
      {"FS-20", "working-directory", "read a host file relative to the start directory", "CANARY",
       working_directory},
      {"FS-23", "foreign-descriptors", "reopen /proc/PID/fd/N and climb from it", "CANARY",
       reopen_foreign_descriptors},
      {"FS-29", "denied-aliases", "spell a denied path differently", "DENIED", aliases_of_denied},
      {"FS-30", "mount-table", "find host paths in the mount tables", "FRAGMENT...",
       host_paths_in_mount_table},
      {"FS-31", "propagation", "find a mount that propagates to the host", "", shared_mounts},
      {"FS-32", "shared-temp", "see host files in /tmp, /run, /dev/shm, mqueue", "CANARY...",
       read_each},
  };
}

}  // namespace nutshell::probe
