// Which of the sandboxes of a project this process may have: two clients in one directory get one
// each, and find them again in the same order. Held until the object is gone.
#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace nutshell::mcp {

class SessionSlot {
 public:
  // The first that nobody holds, below the user's directory.
  static Result<SessionSlot> take(const std::string& label);

  // The label of its sandbox.
  [[nodiscard]] const std::string& label() const { return label_; }

 private:
  SessionSlot(std::string label, UniqueFd lock)
      : label_(std::move(label)), lock_(std::move(lock)) {}

  std::string label_;
  UniqueFd lock_;
};

}  // namespace nutshell::mcp
