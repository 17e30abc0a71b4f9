// The little of a tar archive that it takes to put something into a container.
#pragma once

#include <cstddef>
#include <string>

namespace nutshell::docker {

inline constexpr std::size_t kTarBlock = 512;

struct TarEntry {
  enum class Type : char { File = '0', HardLink = '1', Directory = '5' };
  std::string name;
  Type type = Type::File;
  std::string link = {};  // of a hard link: what it is the same as
  std::size_t size = 0;
  unsigned mode = 0555;
  unsigned owner = 0;  // and group
};

// ustar, as POSIX has it: the block before an entry's bytes.
std::string tar_head(const TarEntry& entry);

}  // namespace nutshell::docker
