// The execs of a sandbox, from their start until no host can attach to them any more: reaps their
// processes, enforces their limits, ends them and their background processes.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"
#include "core/init_entry.h"
#include "init/exec/connect_watch.h"
#include "init/exec/cpu_watch.h"
#include "init/exec/exec.h"
#include "init/exec/exec_conversation.h"
#include "init/exec/halt.h"
#include "init/exec/kernel_memory_watch.h"
#include "init/exec/memory_watch.h"
#include "wire/frame.h"

namespace nutshell::init {

class ExecTable {
 public:
  explicit ExecTable(const InitSetup& setup);  // `setup` must outlive this

  // Whether a command runs, or its end was not sent yet.
  [[nodiscard]] bool is_busy() const;
  // When check() must be called next.
  [[nodiscard]] Deadline next_check() const;
  // All of them, to poll their pipes.
  [[nodiscard]] std::vector<Exec*> all() const;

  // Begin the conversation of an Exec or Attach message.
  Result<std::unique_ptr<Conversation>> start(const wire::Frame& frame);
  Result<std::unique_ptr<Conversation>> attach(const wire::Frame& frame);

  // Commands that start from now on have this filter.
  void watch_connects(ConnectWatch watch);
  // Commands that start from now on have these variables on top of the sandbox's.
  void set_variables(const std::vector<std::string>& variables);
  // The network policy refused a connection to a process with this mark; with kAnyMark, to one that
  // is not known.
  void note_refusal(Mark mark, const std::string& reason);

  // Stops all processes until resume(); commands that start meanwhile run.
  void suspend();
  void resume();

  void reap_children();
  void check();
  // Ends the execs whose process is gone and whose output is read.
  void finish();
  // Kills all execs, which end as lost.
  void end_all(const std::string& reason);
  // Ends all running execs as timed out, for this reason.
  void end_running(const std::string& reason);
  // Forgets finished execs, but for a few that a host may attach to.
  void drop_finished();

 private:
  struct Slot {
    std::unique_ptr<Exec> exec;
    ExecConversation* conversation = nullptr;  // the listener, if there is one
    std::uint64_t place = 0;                   // in the order of ends; zero before
  };
  struct Leftover {
    Mark mark;
    Deadline deadline;
  };

  std::unique_ptr<Conversation> listen_to(Slot& slot, std::uint32_t number);
  void released(Exec& exec);
  void finish(Exec& exec);
  void watch_memory();
  void watch_kernel_memory();
  void watch_cpu();
  void note_leftovers(Exec& exec);
  void end_leftovers();
  std::uint64_t new_oom_kills();

  const InitSetup& setup_;
  ProcessMarks marks_;
  MemoryWatch memory_;
  KernelMemoryWatch kernel_memory_;
  CpuWatch cpu_;
  Halt halt_;
  bool is_suspended_ = false;
  Exec::Settings settings_;
  ConnectWatch watch_;
  std::map<std::string, Slot> execs_;
  std::vector<Leftover> leftovers_;
  Mark last_mark_ = 0;
  std::uint64_t ended_ = 0;
  std::uint64_t seen_oom_kills_ = 0;
  Deadline memory_check_ = Deadline::never();
};

}  // namespace nutshell::init
