// Keeps the entry at a path, so that it can be put back.
#pragma once

#include <sys/stat.h>

#include <functional>
#include <string>
#include <vector>

#include "init/files/change_journal.h"

namespace nutshell::init {

// The bytes and entries that may still be kept.
struct Budget {
  std::uint64_t bytes = ChangeJournal::kMostBytes;
  std::uint64_t entries = 20'000;
};

// Deeper trees can be removed, but are not kept.
inline constexpr int kMostDepth = 128;

struct Captured {
  std::string path;
  struct stat status {};
  Image image;
};

// Keeps one entry: a directory without its entries, a link as a link. A file that is neither
// regular nor directory nor link cannot be kept.
Result<Image> capture_entry(int directory, const std::string& name, const struct stat& status,
                            Budget& budget);

// Keeps the entry and everything below it, parents first, as `path`. Does not enter other mounts.
struct TreePlace {
  int directory;
  std::string name;
  std::string path;
};
enum class SpecialFiles { Refused, LeftOut };
struct CaptureRules {
  Budget& budget;
  SpecialFiles special_files = SpecialFiles::Refused;
};
Result<> capture_tree(const TreePlace& place, const CaptureRules& rules,
                      std::vector<Captured>& found);

// The entry as it is now; it may be missing. The content of a file beyond the budget is left out,
// but its version is correct.
struct Present {
  struct stat status {};
  Image image;
  std::string version;  // full_version() of a regular file
};
Result<Present> look_at_entry(int directory, const std::string& name, Budget& budget);

// Compares kind, permissions, owner and link target; not the content of a file.
bool has_same_shape(const Image& left, const Image& right);

// Calls `visit` with each name in a directory until it returns an error.
Result<> each_entry(int directory, const std::string& name,
                    const std::function<Result<>(int opened, const std::string& entry)>& visit);

// Reads a kept content; at most `most` bytes if it is not in memory.
Result<std::string> bytes_of(const Content& content, std::uint64_t most);

}  // namespace nutshell::init
