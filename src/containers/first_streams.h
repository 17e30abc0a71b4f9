// The connections to inits that came with the starts of their sandboxes: the standard input and
// output of each container's first process. They wait here until a caller asks for one.
#pragma once

#include <map>
#include <string>

#include "base/unique_fd.h"
#include "core/backend.h"

namespace nutshell::containers {

class FirstStreams {
 public:
  void add(const std::string& id, UniqueFd stream, Lifetime lifetime);
  // The stream ends its sandbox when it is closed, and the sandbox has no other owner.
  [[nodiscard]] bool is_owner(const std::string& id) const;
  // An invalid descriptor where there is none, or where closing it would end a sandbox that is not
  // released yet.
  UniqueFd take(const std::string& id);
  // Marks a stream of Lifetime::WithCallerUntilReleased as one that may be taken and closed.
  void release(const std::string& id);
  // Closes it.
  void remove(const std::string& id) { streams_.erase(id); }
  // Closes streams whose sandboxes have ended.
  void tidy();
  void clear() { streams_.clear(); }

 private:
  struct Entry {
    UniqueFd stream;
    Lifetime lifetime;
  };
  std::map<std::string, Entry> streams_;
};

}  // namespace nutshell::containers
