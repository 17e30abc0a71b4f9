// Puts paths back to their former state. All paths are checked before the first is changed, and
// each directory is opened once, so that swapping names meanwhile cannot leave half of it done.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "init/files/capture.h"
#include "init/files/place.h"

namespace nutshell::init {

class Restoration {
 public:
  Restoration(const WritableRoots& roots, const std::vector<PathChange>& changes);

  // Refuses as `conflict` if something is not as the change left it.
  Attempt<> look();
  // Puts every path back to its state before the change. A failure half-way is rolled back.
  Attempt<> restore();
  // Describes what restore() did, as a change that can be taken back.
  struct Done {
    std::vector<PathChange> paths;
    std::string why_not;  // set if the replaced content is too large to be kept
  };
  Done done();

 private:
  struct Item {
    const PathChange* change;
    Present now;
  };
  enum class Towards { Before, Now };

  Attempt<int> directory_of(const std::string& path);
  Attempt<UniqueFd> open_directory(const std::string& directory, const std::string& shown);
  Attempt<> look_at(Item& item);
  Attempt<> check_emptied(const Item& item);
  Attempt<> move_all(Towards towards);
  Attempt<> clear(const Item& item, const Image& wanted);
  Attempt<> put(const std::string& path, const Image& wanted);
  Attempt<> set_mode(const std::string& path, const Image& wanted);

  const WritableRoots& roots_;
  std::vector<Item> items_;  // parents before children
  std::set<std::string> paths_;
  std::map<std::string, UniqueFd> opened_;  // by path; kept open, as names may change meanwhile
  UniqueFd another_;                        // the last one opened when there are too many to keep
  std::string why_not_;
};

}  // namespace nutshell::init
