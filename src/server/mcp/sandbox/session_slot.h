// Chooses one of the sandboxes of a project for this process: two clients in one directory get one
// each, and find them again in the same order. The object holds the choice while it lives.
#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace nutshell::mcp {

class SessionSlot {
 public:
  // Takes the first free slot in the user's directory. Waits a moment for a server that is ending,
  // so that a client which is opened again gets its sandbox.
  static Result<SessionSlot> take(const std::string& label);

  // Tells the next server that this one is about to end.
  void mark_ending() const;

  // The label of the sandbox in this slot.
  [[nodiscard]] const std::string& label() const { return label_; }

 private:
  SessionSlot(std::string label, UniqueFd lock)
      : label_(std::move(label)), lock_(std::move(lock)) {}

  std::string label_;
  UniqueFd lock_;
};

}  // namespace nutshell::mcp
