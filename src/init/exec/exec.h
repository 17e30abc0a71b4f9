// One command from its start to its end: its process tree, its streams, its limits.
#pragma once

#include <linux/filter.h>
#include <sys/resource.h>

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "core/exec.h"
#include "init/exec/output_stream.h"
#include "init/exec/process_marks.h"
#include "wire/schema.h"

namespace nutshell::init {

class Exec {
 public:
  // Settings that all execs of this sandbox share.
  struct Settings {
    const ProcessMarks& marks;
    std::vector<std::string> environment;
    std::string working_directory;
    std::span<const sock_filter> filter;
    unsigned cores = 1;
    int memory_priority = -1;
    int watch_sender = -1;  // of ConnectWatch
  };

  static Result<std::unique_ptr<Exec>> start(wire::Exec message, Mark mark,
                                             const Settings& settings);
  Exec(Exec&&) = delete;
  Exec& operator=(Exec&&) = delete;
  ~Exec() = default;

  [[nodiscard]] const std::string& id() const { return id_; }
  [[nodiscard]] Mark mark() const { return mark_; }
  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] const Deadline& deadline() const { return deadline_; }
  [[nodiscard]] bool is_running() const { return pid_ > 0; }
  [[nodiscard]] bool has_ended() const { return result_.has_value(); }
  void keep() { request_.on_disconnect = OnDisconnect::Keep; }
  [[nodiscard]] bool is_kept() const { return request_.on_disconnect == OnDisconnect::Keep; }
  [[nodiscard]] bool holds_pipes() const { return output_.is_open() || error_.is_open(); }

  // Descriptors to poll, -1 where there is none: output, error, and input while bytes wait.
  [[nodiscard]] int output_descriptor() const { return is_ending() ? -1 : output_.descriptor(); }
  [[nodiscard]] int error_descriptor() const { return is_ending() ? -1 : error_.descriptor(); }
  [[nodiscard]] int input_descriptor() const;
  [[nodiscard]] Deadline next_check() const;

  void read_output();
  void write_input();
  void check_limits();

  // Called when a process with this exec's mark was reaped.
  void reaped(pid_t pid, int status, const rusage& usage);
  // Replaces the status if the kernel or the watcher killed the command for its memory.
  void out_of_memory(std::string detail);
  [[nodiscard]] bool may_be_out_of_memory() const;
  // Whether all that it wrote before its end has been read, or never will be.
  [[nodiscard]] bool is_drained() const;
  void finish();
  // Called before finish(): this many processes of the command live on until its deadline.
  void note_left_running(std::size_t count);

  // A connection that the sandbox's network policy refused.
  void note_refusal(const std::string& reason);

  // Kills the whole tree; the exec then ends with `outcome`.
  void end_with(Outcome outcome, std::string detail);

  Result<> add_input(std::string_view bytes);
  void end_input() { is_input_ended_ = true; }
  [[nodiscard]] std::uint64_t input_consumed() const { return input_consumed_; }
  void resize(std::uint16_t rows, std::uint16_t columns);
  void send_signal(int number);
  // Says whether a host reads the output now.
  void set_listener(bool is_there) {
    output_.set_listener(is_there);
    error_.set_listener(is_there);
  }
  void close_stream(wire::Stream stream) { stream_of(stream).close(); }
  OutputStream& stream_of(wire::Stream stream) {
    return stream == wire::Stream::Error ? error_ : output_;
  }
  [[nodiscard]] const wire::Ended& result() const { return *result_; }

 private:
  struct Pipes;
  Exec(wire::Exec&& message, Mark mark, const ProcessMarks& marks, Pipes& pipes);
  static Result<Pipes> make_pipes(const ExecRequest& request);
  Result<> launch(const Settings& settings, Pipes& pipes);
  // Whether the command closed one of its streams a moment ago: most likely it exits, and SIGCHLD
  // tells when. Polling the other stream would only wake init once more.
  [[nodiscard]] bool is_ending() const {
    return is_running() && !ending_until_.is_never() && !ending_until_.has_passed();
  }
  void fail_to_start(int error_number);
  void fill_totals(ExecResult& result) const;

  std::string id_;
  ExecRequest request_;
  Mark mark_;
  const ProcessMarks& marks_;
  pid_t pid_ = -1;  // -1 once its status is known
  OutputStream output_;
  OutputStream error_;
  UniqueFd input_;
  UniqueFd terminal_;  // master side, for its window size
  std::string waiting_input_;
  std::uint64_t input_consumed_ = 0;
  bool is_input_ended_ = false;
  std::uint64_t allowance_;  // output bytes it may still write
  Clock::time_point started_;
  Deadline deadline_ = Deadline::never();
  Deadline cpu_check_ = Deadline::never();
  Deadline drain_deadline_ = Deadline::never();
  Deadline ending_until_ = Deadline::never();
  std::chrono::microseconds cpu_time_{0};  // of its processes that were reaped
  std::uint64_t peak_memory_bytes_ = 0;
  int status_ = 0;
  std::optional<Outcome> forced_;  // why init killed it
  std::string detail_;
  std::vector<std::string> refusals_;  // different ones
  std::uint64_t refusal_count_ = 0;
  std::optional<wire::Ended> result_;
};

}  // namespace nutshell::init
