// KS: system calls of other ABIs of x86-64 (32-bit, x32), which a filter for one ABI would miss.
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>

#include "probe.h"

namespace nutshell::probe {
namespace {

#if defined(__x86_64__)

constexpr long kX32 = 0x40000000L;
constexpr int kExitCode = 42;

long old_call(long number, long first) {
  long result = number;
  // Whether int 0x80 keeps r8–r11 depends on the kernel.
  asm volatile("int $0x80" : "+a"(result) : "b"(first) : "memory", "r8", "r9", "r10", "r11");
  const auto narrow = static_cast<std::int32_t>(result);
  if (narrow >= 0) return narrow;
  errno = -narrow;
  return -1;
}

// SIGSEGV means that the kernel has no int 0x80.
Verdict try_old_call(const char* name, long number, long first) {
  Verdict verdict = try_call(name, [&] { return old_call(number, first); });
  const bool has_no_entry = verdict.detail.ends_with("signal " + std::to_string(SIGSEGV));
  return has_no_entry ? refused(std::string(name) + " SIGSEGV") : verdict;
}

// The smallest 32-bit program: one page that calls exit(42) by int 0x80.
constexpr std::array<unsigned char, 96> kProgram = {
    0x7F, 'E',  'L',  'F',  1,    1,    1,    0,    0,    0,    0,  0, 0,  0, 0,    0,   2, 0, 3, 0,
    1,    0,    0,    0,    0x54, 0x80, 0x04, 0x08, 0x34, 0,    0,  0, 0,  0, 0,    0,   0, 0, 0, 0,
    0x34, 0,    0x20, 0,    1,    0,    0,    0,    0,    0,    0,  0, 1,  0, 0,    0,   0, 0, 0, 0,
    0,    0x80, 0x04, 0x08, 0,    0x80, 0x04, 0x08, 96,   0,    0,  0, 96, 0, 0,    0,   5, 0, 0, 0,
    0,    0x10, 0,    0,    0xB8, 1,    0,    0,    0,    0xBB, 42, 0, 0,  0, 0xCD, 0x80};

bool write_program(const char* path) {
  const Descriptor file(::open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700));
  return file.is_open() &&
         ::write(file.get(), kProgram.data(), kProgram.size()) == ssize_t{kProgram.size()};
}

Verdict run_old_program() {
  const ScratchPath program("elf32");
  if (!write_program(program.c_str())) return unexpected("write " + error_name(errno));
  const pid_t child = ::fork();
  if (child < 0) return unexpected("fork " + error_name(errno));
  if (child == 0) {
    ::execl(program.c_str(), program.c_str(), nullptr);
    ::_exit(errno == ENOEXEC || errno == EACCES || errno == EPERM ? 100 : 101);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    if (signal == SIGSYS) return refused("32-bit program killed by SIGSYS");
    return unexpected("32-bit program died of signal " + std::to_string(signal));
  }
  if (WEXITSTATUS(status) == 100) return refused("32-bit program does not start");
  if (WEXITSTATUS(status) == kExitCode) return opened("a 32-bit program ran");
  return unexpected("32-bit program ended with " + std::to_string(WEXITSTATUS(status)));
}

Verdict old_entry(const Arguments&) {
  constexpr long kGetpid = 20;
  constexpr long kUnshare = 310;
  constexpr long kNewUser = 0x10000000;
  Findings findings;
  findings.add(try_old_call("int80 getpid", kGetpid, 0));
  findings.add(try_old_call("int80 unshare", kUnshare, kNewUser));
  findings.add(run_old_program());
  return findings.verdict();
}

Verdict x32_entry(const Arguments&) {
  Findings findings;
  findings.add(try_call("x32 getpid", [] { return ::syscall(kX32 + SYS_getpid); }));
  findings.add(try_call("x32 unshare", [] { return ::syscall(kX32 + SYS_unshare, 0x10000000L); }));
  return findings.verdict();
}

#else

Verdict old_entry(const Arguments&) {
  return refused("this processor has no int 0x80");
}
Verdict x32_entry(const Arguments&) {
  return refused("this processor has no x32");
}

#endif

}  // namespace

Probes foreign_abi_probes() {
  return {
      {"KS-19", "x32", "system calls of the x32 ABI", "", x32_entry},
      {"KS-20", "int-80", "int 0x80 from 64-bit code, a 32-bit program", "", old_entry},
  };
}

}  // namespace nutshell::probe
