// The entries of one directory, read with few system calls and not copied.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace nutshell::init::search {

// Keeps its memory between directories.
class DirectoryEntries {
 public:
  struct Entry {
    const char* name = nullptr;  // ended by NUL; valid until the next read()
    unsigned char type = 0;      // DT_REG and the like, never DT_UNKNOWN

    [[nodiscard]] std::string_view text() const { return name; }
  };

  // Reads all entries but "." and "..", at most `most` bytes of the kernel's records; returns false
  // if there are more.
  Result<bool> read(int directory, std::size_t most = kMostBytes);

  template <typename Visit>
  void for_each(Visit&& visit) const {
    for (std::size_t at = 0; at < size_;) {
      Entry entry;
      at = take(at, entry);
      if (!is_dots(entry.name)) visit(entry);
    }
  }

  // A directory of a million entries takes 40 MB.
  static constexpr std::size_t kMostBytes = 256U << 20U;

 private:
  std::size_t take(std::size_t at, Entry& entry) const;
  static bool is_dots(const char* name) {
    return name[0] == '.' && (name[1] == 0 || (name[1] == '.' && name[2] == 0));
  }

  int directory_ = -1;
  std::string records_;
  std::size_t size_ = 0;
};

}  // namespace nutshell::init::search
