// Writes headers of tar archives, in which an engine takes files for a container.
#pragma once

#include <cstddef>
#include <string>

namespace nutshell::docker {

inline constexpr std::size_t kTarBlock = 512;

struct TarEntry {
  enum class Type : char { File = '0', HardLink = '1', Directory = '5' };
  std::string name;
  Type type = Type::File;
  std::string link = {};  // the target of a hard link
  std::size_t size = 0;
  unsigned mode = 0555;
  unsigned owner = 0;  // also the group
};

// The ustar header block, which precedes the entry's bytes.
std::string tar_head(const TarEntry& entry);

}  // namespace nutshell::docker
