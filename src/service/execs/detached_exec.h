// A command that runs without its caller. Its output goes to files, which any number of callers
// read from any offset, and which outlive the daemon. Thread-safe.
#pragma once

#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "base/account.h"
#include "base/deadline.h"
#include "base/unique_fd.h"
#include "service/model/exec_view.h"
#include "wire/exec_io.h"

namespace nutshell::service {

class DetachedExec : public wire::ExecIo {
 public:
  struct Identity {
    std::string exec_id;
    std::string tenant;
    std::string sandbox;
    std::string session;
    ExecLimits limits;
    std::uint64_t begun_id = 0;
  };
  // The directory of its output, and the account that is charged for it.
  struct Spool {
    std::filesystem::path directory;
    Account& tenant;
    std::uint64_t most_bytes = 0;  // for this exec
    // Called when the tenant's account is full; false if nothing could be removed.
    std::function<bool()> make_room = [] { return false; };
  };
  // Makes its files, or opens those of an earlier daemon, with the output so far.
  static Result<std::shared_ptr<DetachedExec>> open(Spool spool, Identity identity);
  // For an exec that ended under an earlier daemon. Opens its files if they are still there.
  static Result<std::shared_ptr<DetachedExec>> open_ended(Spool spool, Identity identity);
  static void remove_files(const std::filesystem::path& directory, const std::string& exec_id);
  // The id of the exec that a file of the directory belongs to; empty for other files.
  static std::string exec_of_file(const std::string& name);

  [[nodiscard]] const Identity& identity() const { return identity_; }
  ExecState state();
  // Passes the output from these offsets on to `io`, until the end of the exec or the deadline.
  Result<ExecState> follow(const ExecOffsets& from, const Deadline& deadline, wire::ExecIo& io);
  void send(const wire::ExecEvent& event);
  void finish(const ExecResult& result, std::uint64_t audit_id);
  // Removes its output. The command goes on, and its ending can still be asked for.
  void drop_output();
  // How long ago it ended; nullopt while it runs.
  std::optional<Clock::duration> ended_since();
  // let_go() shuts the stream down that hold_stream() named: the runner returns, the command goes
  // on.
  void hold_stream(int descriptor);
  void let_go();
  [[nodiscard]] bool was_let_go();

  // These are called by its runner, on one thread.
  Taken take(wire::Stream stream, std::string_view bytes) override;
  [[nodiscard]] int event_descriptor() const override { return events_.get(); }
  std::optional<wire::ExecEvent> next_event() override;

 private:
  DetachedExec(Spool spool, Identity identity)
      : spool_(std::move(spool)),
        identity_(std::move(identity)),
        account_(spool_.most_bytes, &spool_.tenant),
        charge_(account_.take_anyway(0)) {}
  static Result<std::shared_ptr<DetachedExec>> open_files(Spool spool, Identity identity,
                                                          int flags);
  // The caller holds mutex_.
  void unlink_output();
  [[nodiscard]] std::filesystem::path file(const char* suffix) const;
  Result<bool> pass_on(int file, wire::Stream stream, std::uint64_t& offset, wire::ExecIo& io);
  // The caller holds mutex_.
  void wake_followers();
  // Waits until there is more output than in `seen`, an event of `io`, or the deadline.
  void wait_for_more(const ExecState& seen, int woken, const wire::ExecIo& io,
                     const Deadline& deadline);

  Spool spool_;
  Identity identity_;
  Account account_;
  Charge charge_;  // changed by its runner, which holds mutex_
  // Closed when it ends, because many ended execs are remembered.
  UniqueFd output_;
  UniqueFd error_;
  UniqueFd events_;
  std::mutex mutex_;
  std::set<int> followers_;  // eventfds, one for each follower, written at each change
  std::uint64_t output_bytes_ = 0;
  std::uint64_t error_bytes_ = 0;
  std::deque<wire::ExecEvent> queue_;
  std::optional<ExecResult> ending_;
  Clock::time_point ended_;
  std::uint64_t audit_id_ = 0;
  int stream_ = -1;
  bool is_let_go_ = false;
  bool is_dropped_ = false;  // its output was removed
};

}  // namespace nutshell::service
