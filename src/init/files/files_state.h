// The state that the file tools of a sandbox share.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "init/files/change_journal.h"
#include "init/files/closed_changes.h"
#include "init/files/copied_tree.h"
#include "init/files/place.h"

namespace nutshell::init {

struct FilesState {
  std::string working_directory = "/workspace";  // relative paths begin here
  WritableRoots roots{{"/workspace", "/tmp"}};
  ChangeJournal journal;
  OpenChanges open_changes;  // begun by copying, and not ended yet
  ClosedChanges closed_changes;
  // The connection of the message that is being handled; expires when it is closed.
  std::weak_ptr<const void> caller;
  // Whether a file is being written in parts.
  std::function<bool()> is_writing = [] { return false; };
  // Names the processes that run besides init; empty if there are none.
  std::function<std::string()> running = [] { return std::string(); };
  // Descriptors of replaced files, closed after the answer was sent: the kernel then frees the
  // pages, and the caller need not wait for that.
  std::vector<UniqueFd> spent;
};

}  // namespace nutshell::init
