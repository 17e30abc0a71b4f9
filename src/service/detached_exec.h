// One command that runs without its caller. What it prints goes to files, where any number of
// callers read it from any offset, and where it stays when the daemon dies. Thread-safe.
#pragma once

#include <deque>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "base/deadline.h"
#include "base/unique_fd.h"
#include "service/exec_view.h"
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
  // Opens its files, or makes them; what is in them was printed before.
  static Result<std::shared_ptr<DetachedExec>> open(const std::filesystem::path& directory,
                                                    Identity identity);
  static void remove_files(const std::filesystem::path& directory, const std::string& exec_id);

  [[nodiscard]] const Identity& identity() const { return identity_; }
  ExecState state();
  // Gives `io` what there is from these offsets on, until the end or the deadline.
  Result<ExecState> follow(const ExecOffsets& from, const Deadline& deadline, wire::ExecIo& io);
  void send(const wire::ExecEvent& event);
  void finish(const ExecResult& result, std::uint64_t audit_id);
  // How long ago it ended; nothing while it runs.
  std::optional<Clock::duration> ended_since();
  // So that its runner lets go of it, and the command goes on.
  void hold_stream(int descriptor);
  void let_go();
  [[nodiscard]] bool was_let_go();

  // For its runner, on one thread.
  Taken take(wire::Stream stream, std::string_view bytes) override;
  [[nodiscard]] int event_descriptor() const override { return events_.get(); }
  std::optional<wire::ExecEvent> next_event() override;

 private:
  DetachedExec(std::filesystem::path directory, Identity identity)
      : directory_(std::move(directory)), identity_(std::move(identity)) {}
  [[nodiscard]] std::filesystem::path file(const char* suffix) const;
  Result<bool> pass_on(int file, wire::Stream stream, std::uint64_t& offset, wire::ExecIo& io);
  // The caller holds mutex_.
  void wake_followers();
  // Until there is more than `seen`, an event of the follower's other side, or the deadline.
  void wait_for_more(const ExecState& seen, int woken, const wire::ExecIo& io,
                     const Deadline& deadline);

  std::filesystem::path directory_;
  Identity identity_;
  // Until it ends: many that have ended are remembered.
  UniqueFd output_;
  UniqueFd error_;
  UniqueFd events_;
  std::mutex mutex_;
  std::set<int> followers_;  // eventfds that tell each of them of a change
  std::uint64_t output_bytes_ = 0;
  std::uint64_t error_bytes_ = 0;
  std::deque<wire::ExecEvent> queue_;
  std::optional<ExecResult> ending_;
  Clock::time_point ended_;
  std::uint64_t audit_id_ = 0;
  int stream_ = -1;
  bool is_let_go_ = false;
};

}  // namespace nutshell::service
