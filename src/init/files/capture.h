// Keeps what is at a path, so that it can be put back.
#pragma once

#include <sys/stat.h>

#include <functional>
#include <string>
#include <vector>

#include "init/files/change_journal.h"

namespace nutshell::init {

// What may still be kept.
struct Budget {
  std::uint64_t bytes = ChangeJournal::kMostBytes;
  std::uint64_t entries = 20'000;
};

// Deeper trees are removed, but not kept.
inline constexpr int kMostDepth = 128;

struct Captured {
  std::string path;
  struct stat status {};
  Image image;
};

// One entry: without those of a directory, and a link as such. A file that is neither regular nor
// directory nor link cannot be kept.
Result<Image> capture_entry(int directory, const std::string& name, const struct stat& status,
                            Budget& budget);

// The entry and everything below it, parents first, as `path`. Does not cross into other mounts.
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

// What is there now, nothing included. The content of a file beyond the budget is left out; its
// version is true all the same.
struct Present {
  struct stat status {};
  Image image;
  std::string version;  // full_version() of a regular file
};
Result<Present> look_at_entry(int directory, const std::string& name, Budget& budget);

// Kind, permissions, owner and where a link leads; not the content of a file.
bool has_same_shape(const Image& left, const Image& right);

// Calls `visit` with each name in a directory until it returns an error.
Result<> each_entry(int directory, const std::string& name,
                    const std::function<Result<>(int opened, const std::string& entry)>& visit);

// The same bytes of a kept content; at most `most` of them are read from elsewhere than memory.
Result<std::string> bytes_of(const Content& content, std::uint64_t most);

}  // namespace nutshell::init
