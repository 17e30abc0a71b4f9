// Puts paths back to what they were. All paths are looked at before the first is touched, and each
// directory is opened once: who swaps names meanwhile does not get half of it.
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

  // Refused as `conflict` when something is not as the change left it.
  Attempt<> look();
  // Afterwards every path is as before the change. What fails half-way is taken back.
  Attempt<> restore();
  // What restore() did: the change that takes it back.
  struct Done {
    std::vector<PathChange> paths;
    std::string why_not;  // set where what was replaced is too large to be kept
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
  std::map<std::string, UniqueFd> opened_;  // by path; kept: their names may be taken meanwhile
  UniqueFd another_;                        // the last of those that are too many
  std::string why_not_;
};

}  // namespace nutshell::init
