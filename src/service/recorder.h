// Writes acts into the record: before they are done, and how they ended. Thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "audit/chains.h"
#include "audit/json_text.h"
#include "audit/redactor.h"
#include "base/deadline.h"
#include "core/exec.h"
#include "core/sandbox_spec.h"
#include "service/caller.h"
#include "service/denials.h"
#include "service/pool_view.h"
#include "telemetry/span.h"

namespace nutshell::service {

// What an act is done to.
struct Subject {
  std::string sandbox;
  std::string session;
  std::vector<std::string> secrets;  // that must not be written down
};

struct Act {
  Caller caller;
  std::string action;
  Subject subject;
  std::uint64_t begun_id = 0;
  Clock::time_point begun = Clock::now();
  telemetry::Active trace = telemetry::active();  // that it is a part of
};

struct Ending {
  std::string outcome = "ok";
  std::string detail;
  std::string input_sha256;
  std::string output_sha256;
  std::string error_sha256;
  std::uint64_t output_bytes = 0;
};

class Recorder {
 public:
  Recorder(audit::Chains& chains, const std::vector<std::string>& secret_names)
      : chains_(chains), redactor_(secret_names) {}

  // An act that cannot be written down is not done.
  Result<Act> begin(const Caller& caller, std::string action, Subject subject,
                    std::string arguments = {});
  // The id of the end's record. Zero: it could not be written, which makes us not ready; it is kept
  // and written once the disk takes it.
  std::uint64_t end(const Act& act, const Ending& ending);
  // One that has no beginning: something refused, something noticed.
  std::uint64_t note(const Caller& caller, const std::string& action, const Subject& subject,
                     const Ending& ending);

  // Somebody was not let in, or may not do something. Many of them are told by their number.
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
  // The same for text that is JSON: secrets are found in every string of it, however it is escaped.
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
  std::uint64_t append_or_keep(audit::Entry entry);
  void write_kept();

  audit::Chains& chains_;
  audit::Redactor redactor_;
  Denials denials_;
  std::mutex kept_mutex_;
  std::deque<audit::Entry> kept_;  // ends that wait for the disk, oldest first
  std::atomic<bool> has_kept_ = false;
};

// "exited 0", "signalled 9", "timed_out"
std::string outcome_text(const ExecResult& result);

}  // namespace nutshell::service
