// PID 1 of a sandbox: starts and reaps commands, carries their bytes, and ends the sandbox at its
// deadline. One thread at a time and a poll loop, because it forks. It is hard to attack from
// inside and still not trusted: every limit that it enforces is also enforced, or backed, outside.
#pragma once

#include <chrono>
#include <list>
#include <memory>

#include "base/deadline.h"
#include "core/init_entry.h"
#include "init/connection.h"
#include "init/exec/exec_table.h"
#include "init/files/files_state.h"
#include "init/layers/layer_stack.h"
#include "init/network/network.h"
#include "init/restricted_thread.h"
#include "init/search/search_conversation.h"

namespace nutshell::init {

class Init {
 public:
  explicit Init(InitSetup setup);

  // Runs until the sandbox's end; the exit status says why. If its files are restricted by rules
  // that may change, it works in a restricted thread, and in a new one after each change.
  int run();

 private:
  struct Polled;

  void work();
  void poll_once();
  [[nodiscard]] Deadline next_deadline() const;
  [[nodiscard]] bool is_busy() const { return execs_.is_busy() || search_.is_busy(); }
  void serve(const Polled& polled);
  void take_new_connection();
  void accept_connection();
  void check_deadlines();
  void write_to_all();
  Result<std::unique_ptr<Conversation>> open_conversation(const wire::Frame& frame);
  Result<std::unique_ptr<Conversation>> open_network_conversation(const wire::Frame& frame);
  Result<> use_network();
  [[nodiscard]] bool is_writing() const;

  InitSetup setup_;
  RestrictedThread restricted_;  // unused if the rules never change
  ExecTable execs_;
  FilesState files_;
  LayerStack layers_;
  SearchState search_;                // used by the search conversations of the connections
  UniqueFd children_;                 // readable when a child has ended
  std::unique_ptr<Network> network_;  // null in a sandbox without one
  std::list<Connection> connections_;
  Deadline ttl_;
  Deadline idle_ = Deadline::never();
  bool has_ended_children_ = false;
  bool has_new_rules_ = false;
  int exit_status_ = -1;  // set when the sandbox ends
};

// The statuses that run() returns.
inline constexpr int kEndedByOwner = 0;
inline constexpr int kEndedByTtl = 10;
inline constexpr int kEndedByIdleness = 11;
inline constexpr int kCouldNotStart = 12;

// An InitEntry.
int run_init(InitSetup setup);

}  // namespace nutshell::init
