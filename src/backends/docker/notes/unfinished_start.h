// A note in the user's runtime directory that a container is being made. The process that makes it
// may be killed while it waits for the engine; the note then tells the next call that reaches the
// engine which container to remove.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace nutshell::docker {

// Removes its note when it goes out of scope.
class UnfinishedStart {
 public:
  static Result<UnfinishedStart> begin(const std::string& engine, std::string container);
  UnfinishedStart(UnfinishedStart&& other) noexcept
      : container_(std::exchange(other.container_, {})) {}
  UnfinishedStart& operator=(UnfinishedStart&&) = delete;
  ~UnfinishedStart();

 private:
  explicit UnfinishedStart(std::string container) : container_(std::move(container)) {}
  std::string container_;  // empty once moved from
};

// Containers of this engine whose makers ended before they were done.
std::vector<std::string> abandoned_starts(const std::string& engine);

// Called after such a container was removed, or was not there. A young note stays: the engine may
// still be about to make the container.
void settle_abandoned_start(const std::string& container);

}  // namespace nutshell::docker
