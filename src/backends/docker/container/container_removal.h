// Ends and removes containers, also while their engine does not answer: then the container is
// killed by its process where that is possible, and its removal is noted for a later call.
#pragma once

#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "backends/docker/engine/engine.h"
#include "base/result.h"

namespace nutshell::docker {

class ContainerRemoval {
 public:
  // `engine` must outlive this object.
  explicit ContainerRemoval(Engine& engine) : engine_(engine) {}

  // Init of this sandbox ends as soon as its first connection is closed.
  void note_ending_by_itself(const std::string& id) { ending_by_themselves_.insert(id); }

  // Ends a sandbox and forgets what is kept of it. Succeeds if the sandbox is already gone.
  Result<> end(const std::string& id);

  // Removes containers whose removal is owed, or whose makers were killed. Returns the owed ones,
  // removed or not.
  std::vector<std::string> settle();

 private:
  Result<> end_by_engine(const std::string& id);
  bool ends_by_itself(const std::string& id);
  bool kill_without_engine(const std::string& id);
  static Result<> remove(EngineClient& client, const std::string& container,
                         std::chrono::seconds time);

  Engine& engine_;
  std::set<std::string> ending_by_themselves_;
};

}  // namespace nutshell::docker
