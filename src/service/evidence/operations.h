// Operations of the service for its callers. Each operation is written to the record before it is
// done and when it has ended; its end is also counted, and is a span of its caller's trace.
// Thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
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
  std::vector<std::string> secrets;  // that must not be written down
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

// One that has been recorded and has not ended. Whoever has it ends it once.
class Operation {
 public:
  // False: it has ended, or was moved away.
  [[nodiscard]] bool is_open() const { return open_.is_set; }
  // Why it was not done, or not to its end; the first reason counts.
  void fail(const Error& error, std::string_view how = "failed");

  Caller caller = {};
  std::string name = {};
  Subject subject = {};  // a sandbox that the operation makes is added when it is known
  Ending ending = {};    // filled in on the way
  std::uint64_t begun_id = 0;
  Clock::time_point begun = Clock::now();
  telemetry::Active trace = telemetry::active();  // that it is a part of

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

  // Does `work` as one operation and returns what it returns, with the id of the end's record where
  // that has a place for it. An error is how the operation ended. Work that goes on elsewhere moves
  // the operation there, to be ended there.
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

  // What cannot be recorded must not be done.
  Result<Operation> begin(const Caller& caller, Action action);
  // Takes up an operation that an earlier service began.
  static Operation resume(const Caller& caller, Action action, std::uint64_t begun_id);
  // Returns the id of the end's record. Zero: it could not be written, which makes the service not
  // ready; it is kept and written once the disk takes it.
  std::uint64_t end(Operation& operation);
  // Records something that has no beginning: something refused, something noticed.
  std::uint64_t note(const Caller& caller, const std::string& action, const Subject& subject,
                     const Ending& ending);

  // Records that somebody was not let in, or may not do something. Many of them are told by their
  // number.
  void deny(const Caller& caller, const std::string& why);
  // At each tick: writes ends that wait for the disk, and numbers of denials.
  void catch_up();

  // What is written down of requests: JSON, without secrets.
  [[nodiscard]] std::string describe(const SandboxSpec& spec) const;
  [[nodiscard]] std::string describe(const AcquireRequest& request) const;
  [[nodiscard]] std::string describe(const ExecRequest& request,
                                     const std::vector<std::string>& secrets) const;
  [[nodiscard]] std::string describe_text(std::string_view name, std::string_view text,
                                          const std::vector<std::string>& secrets) const;
  // The same for a JSON value: secrets are found in every string of it.
  [[nodiscard]] std::string describe_json(std::string_view name, nlohmann::json value,
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
  std::deque<audit::Entry> kept_;  // ends that wait for the disk, oldest first
  std::atomic<bool> has_kept_ = false;
};

// "exited 0", "signalled 9", "timed_out"
std::string outcome_text(const ExecResult& result);

}  // namespace nutshell::service
