// Reads from an ELF file which loader and libraries it needs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace nutshell::images {

struct ElfNeeds {
  std::string interpreter;             // "/lib64/ld-linux-x86-64.so.2"; empty: a library, or static
  std::vector<std::string> libraries;  // "libc.so.6"
};

bool is_elf(std::string_view file);
// Reads a 64-bit little-endian file; checks every offset in it.
Result<ElfNeeds> read_elf_needs(std::string_view file);

}  // namespace nutshell::images
