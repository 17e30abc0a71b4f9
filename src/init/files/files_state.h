// What the file tools of a sandbox share.
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
  std::string working_directory = "/workspace";  // relative paths count from here
  WritableRoots roots{{"/workspace", "/tmp"}};
  ChangeJournal journal;
  OpenChanges open_changes;  // begun by copying, and not ended yet
  ClosedChanges closed_changes;
  // The connection of the message that is being handled; expires when it is closed.
  std::weak_ptr<const void> caller;
  // Whether a file is being written in parts.
  std::function<bool()> is_writing = [] { return false; };
  // Names what runs in the sandbox besides init; empty: nothing does.
  std::function<std::string()> running = [] { return std::string(); };
  // Closed once the answer is on its way. The last descriptor of a file that was replaced: the
  // kernel then takes its pages apart, for which nobody need wait.
  std::vector<UniqueFd> spent;
};

}  // namespace nutshell::init
