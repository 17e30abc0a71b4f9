// IL: what the sandbox can learn about the host, its user and its other processes.
#include <fcntl.h>
#include <mqueue.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "probe.h"

extern char** environ;

namespace nutshell::probe {
namespace {

Verdict not_told(const std::string& place, const std::string& text, const std::string& secret) {
  if (text.find(secret) != std::string::npos) return opened(place + " tells it");
  return refused(place + " is silent");
}

// The secret is passed in two halves, so that this process's command line does not contain it.
Verdict own_environment(const Arguments& arguments) {
  const std::string secret = arguments[0] + arguments[1];
  Findings findings;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    findings.add(not_told("environment", *entry, secret));
  }
  findings.add(refused("the environment is read"));
  return findings.verdict();
}

Verdict foreign_environments(const Arguments& arguments) {
  const std::string secret = arguments[0] + arguments[1];
  Findings findings;
  for (const int process : visible_processes()) {
    for (const auto* file : {"environ", "cmdline"}) {
      const std::string path = "/proc/" + std::to_string(process) + "/" + file;
      const auto text = read_text(path);
      findings.add(text ? not_told(path, *text, secret) : refused(path + " does not open"));
    }
  }
  return findings.verdict();
}

Verdict host_processes(const Arguments& arguments) {
  const std::string marker = arguments[0] + arguments[1];
  Findings findings;
  if (is_first_namespace("pid", Namespace::Pid)) {
    findings.add(opened("this is the host's process namespace"));
  }
  for (const int process : visible_processes()) {
    const std::string entry = "/proc/" + std::to_string(process);
    findings.add(not_told(entry, read_text(entry + "/cmdline").value_or(""), marker));
    if (read_text(entry + "/comm").value_or("") == "kthreadd\n") {
      findings.add(opened("the kernel's threads are visible"));
    }
  }
  return findings.verdict();
}

Verdict file_is_silent(const std::string& path, const std::string& fragment) {
  const auto text = read_text(path);
  if (!text) return refused(path + " does not open");
  return not_told(path, *text, fragment);
}

Verdict file_differs(const std::string& path, const std::string& host_value) {
  const auto text = read_text(path);
  if (!text) return refused(path + " does not open");
  const bool is_same = *text == host_value || *text == host_value + "\n";
  return is_same ? opened(path + " is the host's") : refused(path + " is another");
}

Verdict identity(const Arguments& arguments) {
  utsname name{};
  if (::uname(&name) != 0) return unexpected("uname " + error_name(errno));
  Findings findings;
  findings.add(arguments[0] == &name.nodename[0] ? opened("uname tells the host's name")
                                                 : refused("uname tells another name"));
  findings.add(file_differs("/proc/sys/kernel/hostname", arguments[0]));
  findings.add(file_differs("/etc/hostname", arguments[0]));
  findings.add(file_differs("/proc/sys/kernel/random/boot_id", arguments[1]));
  if (arguments.size() > 2) {
    findings.add(file_differs("/etc/machine-id", arguments[2]));
    findings.add(file_differs("/var/lib/dbus/machine-id", arguments[2]));
  }
  for (const auto* file : {"product_serial", "product_uuid", "board_serial"}) {
    findings.add(try_open(std::string("/sys/class/dmi/id/") + file, O_RDONLY));
  }
  return findings.verdict();
}

// Without permission the kernel fills the addresses of iomem with zeros.
Verdict kernel_file_masked(const std::string& path) {
  const auto text = read_text(path);
  if (!text) return refused(path + " does not open");
  if (text->empty()) return refused(path + " is empty");
  if (path == "/proc/iomem" && text->find_first_of("123456789abcdef") > text->find(" : ")) {
    return refused(path + " is zeroed");
  }
  return opened(path);
}

Verdict kernel_files(const Arguments&) {
  Findings findings;
  for (const auto* name :
       {"cmdline", "keys", "key-users", "timer_list", "sched_debug", "slabinfo", "iomem", "modules",
        "config.gz", "kmsg", "interrupts", "latency_stats"}) {
    findings.add(kernel_file_masked(std::string("/proc/") + name));
  }
  return findings.verdict();
}

Verdict kernel_log(const Arguments&) {
  constexpr int kReadAll = 3;
  constexpr int kSizeOfBuffer = 10;
  Findings findings;
  findings.add(
      try_call("syslog size", [] { return ::syscall(SYS_syslog, kSizeOfBuffer, nullptr, 0); }));
  findings.add(try_call("syslog read", [] {
    char byte = 0;
    return ::syscall(SYS_syslog, kReadAll, &byte, 1);
  }));
  findings.add(try_open("/dev/kmsg", O_RDONLY | O_NONBLOCK));
  findings.add(try_open("/proc/kmsg", O_RDONLY | O_NONBLOCK));
  return findings.verdict();
}

Verdict host_settings(const Arguments& arguments) {
  Findings findings;
  for (const auto* path : {"/etc/passwd", "/etc/group", "/etc/hosts", "/etc/resolv.conf",
                           "/etc/hostname", "/etc/fstab", "/etc/shadow"}) {
    for (const auto& fragment : arguments)
      findings.add(file_is_silent(path, fragment));
  }
  return findings.verdict();
}

Verdict system_directories(const Arguments&) {
  Findings findings;
  for (const auto* path :
       {"/sys/kernel/debug", "/sys/kernel/tracing", "/sys/kernel/security", "/sys/fs/cgroup",
        "/sys/fs/bpf", "/sys/firmware", "/sys/class", "/sys/devices", "/sys/module", "/proc/acpi",
        "/proc/scsi", "/proc/asound"}) {
    const bool is_empty = entries_of(path).empty();
    findings.add(is_empty ? refused(std::string(path) + " is empty") : opened(path));
  }
  return findings.verdict();
}

Verdict table_is_empty(const std::string& path) {
  const auto text = read_text(path);
  if (!text) return refused(path + " does not open");
  const auto header = text->find('\n');
  const bool has_entry = header != std::string::npos && header + 1 < text->size();
  return has_entry ? opened(path + " has entries") : refused(path + " is empty");
}

Verdict shared_objects(const Arguments& arguments) {
  constexpr int kUserKeyring = -4;
  Findings findings;
  for (const auto* table : {"shm", "msg", "sem"}) {
    findings.add(table_is_empty(std::string("/proc/sysvipc/") + table));
  }
  if (!arguments.empty()) {
    const auto key = static_cast<key_t>(parse_size(arguments[0]));
    findings.add(try_call(
        "segment of the host", [&] { return ::shmget(key, 0, 0); }, path_rules()));
  }
  if (arguments.size() > 1) {
    findings.add(try_call(
        "queue of the host", [&] { return ::mq_open(arguments[1].c_str(), O_RDONLY); },
        path_rules()));
  }
  findings.add(try_call(
      "user keyring", [] { return ::syscall(SYS_keyctl, 0, kUserKeyring, 0, 0, 0); },
      let_through({ENOKEY})));
  return findings.verdict();
}

Verdict foreign_owners(const Arguments& arguments) {
  constexpr uid_t kNobody = 65534;
  Arguments paths = {"/", "/usr", "/usr/bin/env", "/tmp", "/workspace", "/dev/null", "/proc/1"};
  paths.insert(paths.end(), arguments.begin(), arguments.end());
  Findings findings;
  for (const auto& path : paths) {
    struct stat about {};
    if (::stat(path.c_str(), &about) != 0) continue;
    const std::string owner = path + " belongs to " + std::to_string(about.st_uid);
    const bool is_mapped =
        about.st_uid == 0 || about.st_uid == ::getuid() || about.st_uid == kNobody;
    findings.add(is_mapped ? refused(owner) : opened(owner));
  }
  return findings.verdict();
}

}  // namespace

Probes leak_probes() {
  return {
      {"IL-01", "own-environment", "find the caller's secret in the environment", "HALF1 HALF2",
       own_environment},
      {"IL-02", "environments", "find it in any process's environ and cmdline", "HALF1 HALF2",
       foreign_environments},
      {"IL-03", "host-processes", "see a host process by its command line", "HALF1 HALF2",
       host_processes},
      {"IL-04", "identity", "host name, boot id, machine id, serials",
       "HOSTNAME BOOT_ID [MACHINE_ID]", identity},
      {"IL-05", "kernel-files", "/proc files that tell about the machine", "", kernel_files},
      {"IL-06", "kernel-log", "read the kernel's log", "", kernel_log},
      {"IL-07", "host-settings", "find host words in /etc", "FRAGMENT...", host_settings},
      {"IL-08", "sys", "/sys/kernel, cgroups, firmware, devices", "", system_directories},
      {"IL-09", "shared-objects", "SysV objects, queues and keys of the host", "[SHM_KEY] [MQUEUE]",
       shared_objects},
      {"IL-16", "owners", "host uid numbers on files", "[PATH...]", foreign_owners},
  };
}

}  // namespace nutshell::probe
