#include "cli/status_text.h"

#include <fmt/format.h>

#include "base/byte_size.h"
#include "cli/print.h"

namespace nutshell::cli {

std::string summary_of(const SandboxSpec& spec) {
  return fmt::format("memory {}, cpus {:g}, processes {}, disk {}",
                     format_byte_size(spec.limits.memory_bytes), spec.limits.millicpus / 1000.0,
                     spec.limits.processes, format_byte_size(spec.limits.disk_bytes));
}

void print_protections(const Protections& protections) {
  print_out("{:<18} {:<8} {}\n", "PROTECTION", "STRENGTH", "BY");
  for (const Protection& protection : protections) {
    print_out("{:<18} {:<8} {}\n", protection.name, to_string(protection.strength), protection.by);
    if (!protection.fix.empty()) print_out("{:<27} why, and how to fix: {}\n", "", protection.fix);
  }
}

}  // namespace nutshell::cli
