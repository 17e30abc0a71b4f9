// All message types in one list, for tests that hold for every one of them.
#pragma once

#include <tuple>

#include "wire/tool_schema.h"

namespace nutshell::wire {

using EveryMessage =
    std::tuple<Hello, Exec, Attach, Input, InputEnd, Consumed, Resize, Signal, Cancel, CloseOutput,
               Keep, ReadFile, WriteFile, FileData, FileEnd, Stat, Walk, MakeDirectory, MakeLink,
               Suspend, Continue, Ping, SetTimeLeft, EndAll, Release, Output, InputConsumed, Ended,
               Failed, FileInfo, Entries, Done, ReadText, PutFile, EditFile, Remove, ListDirectory,
               FindFiles, Search, Undo, BeginChange, EndChange, ListChanges, UseLayers, Checkpoint,
               Rollback, TextPage, Changed, Refused, Listing, FindPage, SearchPage, Changes,
               ChangeBegun>;

// Calls step(Message{}) for each type.
template <typename Step>
void for_every_message(Step step) {
  std::apply([&](auto... message) { (step(message), ...); }, EveryMessage());
}

}  // namespace nutshell::wire
