// A session: a sandbox under a name, there when it is used, with what it may use in all.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/sandbox_spec.h"

namespace nutshell::service {

// Zero: no bound.
struct Budget {
  std::uint64_t execs = 0;
  std::chrono::milliseconds cpu_time{0};
  std::chrono::milliseconds wall_time{0};
  std::uint64_t output_bytes = 0;

  bool operator==(const Budget&) const = default;
};

struct Usage {
  std::uint64_t execs = 0;
  std::chrono::microseconds cpu_time{0};
  std::chrono::microseconds wall_time{0};
  std::uint64_t output_bytes = 0;
};

struct SessionRequest {
  std::string name = {};  // letters, digits, ._-, at most 63
  SandboxSpec spec = {};
  // Run once in each life of the sandbox, before anything else; one that fails fails the session.
  std::vector<std::vector<std::string>> setup = {};
  Budget budget = {};
  // The session ends when nobody renews it for this long; zero: no lease.
  std::chrono::milliseconds lease{0};
  // Paused when nobody uses it for this long, resumed by the next use; zero: never.
  std::chrono::milliseconds pause_after{0};
  // The files of /workspace are kept when the sandbox is ended in order, and are there again in the
  // next life, and for the next session of this name. A sandbox that is lost takes with it what
  // changed since then.
  bool keeps_workspace = false;
  std::map<std::string, std::string> labels = {};  // to find it again by
};

struct SetupOutput {
  std::vector<std::string> argv;
  int exit_code = 0;
  std::string outcome;
  std::string output;  // the last kMostSetupOutput bytes of stdout and stderr together
};

struct SessionView {
  std::string name;
  std::string sandbox_id;
  std::uint32_t life = 0;  // 1: the first sandbox; more: earlier ones were lost
  // Empty, or what happened to the life before: "sandbox 12ab… is gone: its files and processes
  // are lost". Told once, by the call that made the new one.
  std::string lost;
  bool was_created = false;  // by this call
  bool keeps_workspace = false;
  std::vector<SetupOutput> setup;
  Budget budget;
  Usage usage;
  std::chrono::milliseconds lease_left{0};
  std::map<std::string, std::string> labels;
  std::chrono::system_clock::time_point created;
};

struct SessionPage {
  std::vector<SessionView> sessions;
  std::string next_cursor;
};

}  // namespace nutshell::service
