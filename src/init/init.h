// PID 1 of a sandbox: starts and reaps commands, carries their bytes, keeps the sandbox's own
// deadline. One thread and a poll loop, because it forks. Hard to reach from inside, and still
// never trusted: every limit it keeps is also kept, or backed, outside.
#pragma once

#include <chrono>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "core/init_entry.h"
#include "init/connection.h"
#include "init/exec.h"
#include "init/exec_conversation.h"
#include "init/memory_watch.h"

namespace nutshell::init {

class Init {
 public:
  explicit Init(InitSetup setup);

  // Until the sandbox's end; the exit status says why.
  int run();

 private:
  struct Slot {
    std::unique_ptr<Exec> exec;
    ExecConversation* conversation = nullptr;  // who listens, if anybody
  };
  struct Polled;
  struct Leftover {
    Mark mark;
    Deadline deadline;
  };

  void poll_once();
  [[nodiscard]] Deadline next_deadline() const;
  [[nodiscard]] bool is_busy() const;
  void serve(const Polled& polled);
  void take_new_connection();
  void accept_connection();
  void reap_children();
  void check_execs();
  void watch_memory();
  void finish_execs();
  void note_leftovers(const Exec& exec);
  void end_leftovers();
  void end_all_execs(const std::string& reason);
  void drop_finished_execs();
  void write_to_all();

  Result<std::unique_ptr<Conversation>> open_conversation(const wire::Frame& frame);
  Result<std::unique_ptr<Conversation>> open_exec(const wire::Frame& frame);
  Result<std::unique_ptr<Conversation>> open_attach(const wire::Frame& frame);
  std::unique_ptr<Conversation> listen_to(Slot& slot, std::uint32_t number);
  void released(Exec& exec);
  std::uint64_t new_oom_kills();

  InitSetup setup_;
  ProcessMarks marks_;
  MemoryWatch memory_;
  Exec::Surroundings surroundings_;
  UniqueFd children_;  // readable when a child has ended
  std::list<Connection> connections_;
  std::map<std::string, Slot> execs_;
  std::vector<Leftover> leftovers_;
  Mark last_mark_ = 0;
  std::uint64_t seen_oom_kills_ = 0;
  Deadline ttl_;
  Deadline idle_ = Deadline::never();
  Deadline memory_check_ = Deadline::never();
  int exit_status_ = -1;  // set once the end has come
};

// The statuses of run(), for whoever started init.
inline constexpr int kEndedByOwner = 0;
inline constexpr int kEndedByTtl = 10;
inline constexpr int kEndedByIdleness = 11;
inline constexpr int kCouldNotStart = 12;

// What InitEntry wants.
int run_init(InitSetup setup);

}  // namespace nutshell::init
