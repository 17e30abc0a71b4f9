// Operations of the service for its callers. Each operation is recorded before it is done and when
// it has ended. Its end is also counted, and becomes a span of the caller's trace. Thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "audit/chains.h"
#include "audit/json_text.h"
#include "audit/redactor.h"
#include "base/deadline.h"
#include "core/exec.h"
#include "core/sandbox_spec.h"
#include "service/evidence/denials.h"
#include "service/evidence/metrics.h"
#include "service/model/caller.h"
#include "service/model/pool_view.h"
#include "telemetry/span.h"

namespace nutshell::service {

// The sandbox or session that an operation is done to.
struct Subject {
  std::string sandbox;
  std::string session;
  std::vector<std::string> secrets;  // values that must not be recorded
};

// How an operation ended.
struct Ending {
  std::string outcome = "ok";  // "exited 0", "failed: not_found"
  std::string detail;
  std::string input_sha256;
  std::string output_sha256;
  std::string error_sha256;
  std::uint64_t output_bytes = 0;
};

// The request of a caller, as the record describes it.
struct Action {
  std::string name;  // "exec", "tool bash"
  Subject subject = {};
  std::string arguments = {};  // JSON; see Operations::describe()
};

// An operation that has been recorded and has not ended. Its holder ends it once.
class Operation {
 public:
  // False if it has ended, or was moved from.
  [[nodiscard]] bool is_open() const { return open_.is_set; }
  // Sets the ending to this error; the first error counts.
  void fail(const Error& error, std::string_view how = "failed");

  Caller caller = {};
  std::string name = {};
  Subject subject = {};  // a sandbox that the operation makes is added when it is known
  Ending ending = {};    // filled in on the way
  std::uint64_t begun_id = 0;
  Clock::time_point begun = Clock::now();
  telemetry::Active trace = telemetry::active();  // the span that it is a part of

 private:
  friend class Operations;
  struct Flag {
    Flag() = default;
    Flag(Flag&& other) noexcept : is_set(std::exchange(other.is_set, false)) {}
    Flag& operator=(Flag&& other) noexcept {
      is_set = std::exchange(other.is_set, false);
      return *this;
    }
    bool is_set = false;
  };
  Flag open_;
  std::optional<ErrorCode> error_;
};

class Operations {
 public:
  Operations(audit::Chains& chains, Metrics& metrics, const std::vector<std::string>& secret_names)
      : chains_(chains), metrics_(metrics), redactor_(secret_names) {}

  // Runs `work` as one operation and returns its result, with the id of the last record if the
  // result has a member audit_id. An error becomes the ending. Work that goes on elsewhere moves
  // the operation there, and ends it there.
  template <typename Work>
  auto run(const Caller& caller, Action action, Work work)
      -> std::invoke_result_t<Work, Operation&> {
    Operation operation = TRY(begin(caller, std::move(action)));
    auto result = work(operation);
    if (!operation.is_open()) return result;
    if (!result) operation.fail(result.error());
    [[maybe_unused]] const std::uint64_t audit_id = end(operation);
    if constexpr (requires { result->audit_id = audit_id; })
      if (result) result->audit_id = audit_id;
    return result;
  }

  // On failure the operation must not be done, because it cannot be recorded.
  Result<Operation> begin(const Caller& caller, Action action);
  // Continues an operation that an earlier service began.
  static Operation resume(const Caller& caller, Action action, std::uint64_t begun_id);
  // Returns the id of the record, or zero if it could not be written. The service is not ready
  // then, and the record is written once the disk takes it.
  std::uint64_t end(Operation& operation);
  // Writes a single record for an event without duration.
  std::uint64_t note(const Caller& caller, const std::string& action, const Subject& subject,
                     const Ending& ending);

  // Records that a caller was refused. Many refusals of one caller are recorded as a count.
  void deny(const Caller& caller, const std::string& why);
  // At each tick: writes endings that wait for the disk, and counts of refusals.
  void catch_up();

  // The arguments of a record: JSON without secrets.
  [[nodiscard]] std::string describe(const SandboxSpec& spec) const;
  [[nodiscard]] std::string describe(const AcquireRequest& request) const;
  [[nodiscard]] std::string describe(const ExecRequest& request,
                                     const std::vector<std::string>& secrets) const;
  [[nodiscard]] std::string describe_text(std::string_view name, std::string_view text,
                                          const std::vector<std::string>& secrets) const;
  // Finds secrets in every string of the JSON text, however it is escaped.
  [[nodiscard]] std::string describe_json(std::string_view name, std::string_view json,
                                          const std::vector<std::string>& secrets) const;
  [[nodiscard]] const audit::Redactor& redactor() const { return redactor_; }
  [[nodiscard]] const std::filesystem::path& directory() const { return chains_.directory(); }
  [[nodiscard]] std::filesystem::path directory_of(const std::string& tenant) const {
    return audit::chain_of(chains_.directory(), tenant);
  }
  std::string trouble() { return chains_.trouble(); }

 private:
  void add_bound(audit::JsonObject& object, const SandboxSpec& spec) const;
  [[nodiscard]] audit::Entry entry_of(const Caller& caller, const std::string& action,
                                      const Subject& subject) const;
  void count(const Operation& operation);
  std::uint64_t append_or_keep(audit::Entry entry);
  void write_kept();

  audit::Chains& chains_;
  Metrics& metrics_;
  audit::Redactor redactor_;
  Denials denials_;
  std::mutex kept_mutex_;
  std::deque<audit::Entry> kept_;  // endings that wait for the disk, oldest first
  std::atomic<bool> has_kept_ = false;
};

// "exited 0", "signalled 9", "timed_out"
std::string outcome_text(const ExecResult& result);

}  // namespace nutshell::service
