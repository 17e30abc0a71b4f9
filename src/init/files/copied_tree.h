// What a command did to files, found by comparing with a copy made before it: for sandboxes whose
// files lie on no stack of layers.
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
  // Everything below these directories, as far as the budget goes. FIFOs, sockets and devices are
  // left out.
  static Result<CopiedTree> copy(const std::vector<std::string>& roots, Budget& budget);

  // What is different now. A file that looks untouched is not read again.
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

// The copies of changes that are begun and not ended. One that nobody ends is given up when too
// many others came after it.
class OpenChanges {
 public:
  static constexpr std::size_t kMost = 4;

  struct Begun {
    std::string id;      // empty: not possible
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
  // The oldest change whose caller is gone and will not end it; empty: there is none.
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
