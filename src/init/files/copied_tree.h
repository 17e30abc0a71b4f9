// Finds what a command changed in files by comparing with a copy made before it: for sandboxes
// without layers.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "init/files/attempt.h"
#include "init/files/capture.h"
#include "init/files/change_journal.h"

namespace nutshell::init {

class CopiedTree {
 public:
  // Copies everything below these directories, within the budget, except FIFOs, sockets and
  // devices.
  static Result<CopiedTree> copy(const std::vector<std::string>& roots, Budget& budget);

  // Returns the differences. A file with the same times and size is not read again.
  [[nodiscard]] Result<std::vector<PathChange>> changes() const;
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  struct Entry {
    struct stat status {};
    Image image;
  };
  class Comparison;

  std::vector<std::string> roots_;
  std::map<std::string, Entry> entries_;
  std::int64_t copied_at_ = 0;
  std::uint64_t bytes_ = 0;
};

// The copies of changes that are begun and not ended. A change that is never ended is given up when
// too many others come after it.
class OpenChanges {
 public:
  static constexpr std::size_t kMost = 4;

  struct Begun {
    std::string id;      // empty if the files could not be copied
    std::string reason;  // why not
  };
  // The change is abandoned once `caller` has expired.
  Begun begin(std::string label, const std::vector<std::string>& roots,
              std::weak_ptr<const void> caller);

  struct Ended {
    std::string label;
    std::vector<PathChange> paths;
  };
  Attempt<Ended> end(const std::string& id);
  // The oldest change whose caller is gone and will not end it; empty if there is none.
  [[nodiscard]] std::string abandoned() const;

 private:
  struct Open {
    std::uint64_t number = 0;
    std::string label;
    CopiedTree tree;
    std::weak_ptr<const void> caller;
  };
  std::vector<Open> open_;  // oldest first
  std::uint64_t last_number_ = 0;
};

}  // namespace nutshell::init
