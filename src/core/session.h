// A session: a name whose sandbox is made when it is used, and a budget for all its commands.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/field.h"
#include "core/sandbox_spec.h"

namespace nutshell {

// A bound of zero means that there is none.
struct Budget {
  std::uint64_t execs = 0;
  std::chrono::milliseconds cpu_time{0};
  std::chrono::milliseconds wall_time{0};
  std::uint64_t output_bytes = 0;

  static constexpr NounInfo kNoun{"Budget", "What a session may use in all; 0: no bound."};
  static void describe(auto&& field, auto& budget) {
    field({.number = 1, .name = "execs", .help = "commands"}, budget.execs);
    field({.number = 2,
           .name = "cpu_time_ms",
           .help = "CPU time of all commands",
           .most = 10 * kYearMs},
          budget.cpu_time);
    field({.number = 3,
           .name = "wall_time_ms",
           .help = "time during which commands run",
           .most = 10 * kYearMs},
          budget.wall_time);
    field({.number = 4,
           .name = "output_bytes",
           .help = "bytes that commands write to stdout and stderr",
           .format = Format::Bytes},
          budget.output_bytes);
  }

  bool operator==(const Budget&) const = default;
};

struct Usage {
  std::uint64_t execs = 0;
  std::chrono::microseconds cpu_time{0};
  std::chrono::microseconds wall_time{0};
  std::uint64_t output_bytes = 0;

  static constexpr NounInfo kNoun{"Usage", "What a session has used of its budget.",
                                  Direction::Given};
  static void describe(auto&& field, auto& usage) {
    field({.number = 1, .name = "execs", .help = "commands"}, usage.execs);
    field({.number = 2, .name = "cpu_time_ms", .help = "CPU time of all commands"}, usage.cpu_time);
    field({.number = 3,
           .name = "wall_time_ms",
           .help = "time in which commands ran, or what they left running used CPU"},
          usage.wall_time);
    field({.number = 4,
           .name = "output_bytes",
           .help = "bytes that commands wrote",
           .format = Format::Bytes},
          usage.output_bytes);
  }
};

struct SessionRequest {
  std::string name = {};
  SandboxSpec spec = {};
  std::vector<std::vector<std::string>> setup = {};
  Budget budget = {};
  std::chrono::milliseconds lease{0};
  std::chrono::milliseconds pause_after{0};
  bool keeps_workspace = false;
  std::map<std::string, std::string> labels = {};

  static constexpr NounInfo kNoun{"SessionRequest", "The session that a caller wants to be there."};
  static void describe(auto&& field, auto& request) {
    field({.number = 1,
           .name = "name",
           .help = "letters, digits, . _ and -, at most 63",
           .presence = Presence::Required},
          request.name);
    field({.number = 2, .name = "spec", .help = "of its sandbox"}, request.spec);
    field({.number = 3,
           .name = "setup",
           .help = "commands that are run once in each of its sandboxes, before anything else; if "
                   "one fails, so does the session"},
          request.setup);
    field({.number = 4, .name = "budget", .help = "what it may use in all"}, request.budget);
    field({.number = 5,
           .name = "lease_ms",
           .help = "the session ends when nobody renews it for so long; 0: no lease",
           .most = 10 * kYearMs,
           .flag = "lease"},
          request.lease);
    field({.number = 6,
           .name = "pause_after_ms",
           .help = "it is paused when nobody uses it for so long, and resumed by the next use; 0: "
                   "never",
           .most = 10 * kYearMs,
           .flag = "pause-after"},
          request.pause_after);
    field({.number = 7, .name = "labels", .help = "to find it again by"}, request.labels);
    field({.number = 8,
           .name = "keeps_workspace",
           .help = "the files of /workspace are kept when its sandbox is ended in order, for its "
                   "next sandbox and for the next session of this name",
           .flag = "keep-workspace"},
          request.keeps_workspace);
  }
};

struct SetupOutput {
  std::vector<std::string> argv;
  int exit_code = 0;
  std::string outcome;
  std::string output;

  static constexpr NounInfo kNoun{"SetupOutput", "How one command of a session's setup ended.",
                                  Direction::Given};
  static void describe(auto&& field, auto& one) {
    field({.number = 1, .name = "argv", .help = "the command"}, one.argv);
    field({.number = 2, .name = "exit_code"}, one.exit_code);
    field({.number = 3, .name = "outcome", .help = "as in ExecResult"}, one.outcome);
    field({.number = 4,
           .name = "output",
           .help = "the end of what it wrote",
           .format = Format::Output},
          one.output);
  }
};

struct Session {
  std::string name;
  std::string sandbox_id;
  std::uint32_t life = 0;
  std::string lost;
  bool was_created = false;
  bool keeps_workspace = false;
  std::vector<SetupOutput> setup;
  Budget budget;
  Usage usage;
  std::chrono::milliseconds lease_left{0};
  std::map<std::string, std::string> labels;
  std::chrono::system_clock::time_point created;

  static constexpr NounInfo kNoun{"Session", "A session that is there.", Direction::Given};
  static void describe(auto&& field, auto& session) {
    field({.number = 1, .name = "name", .presence = Presence::Required}, session.name);
    field({.number = 2, .name = "sandbox_id", .help = "of its present sandbox"},
          session.sandbox_id);
    field({.number = 3,
           .name = "life",
           .help = "which of its sandboxes this is; more than 1: earlier ones were lost"},
          session.life);
    field({.number = 4,
           .name = "lost",
           .help = "what was lost with the sandbox before; told once, by the call that made the "
                   "new one"},
          OnlyIf{session.lost, !session.lost.empty()});
    field({.number = 5, .name = "was_created", .help = "by this call"}, session.was_created);
    field({.number = 6, .name = "keeps_workspace", .help = "as in SessionRequest"},
          session.keeps_workspace);
    field({.number = 7, .name = "setup", .help = "how the commands of its setup ended"},
          session.setup);
    field({.number = 8, .name = "budget", .help = "what it may use in all"}, session.budget);
    field({.number = 9, .name = "usage", .help = "what it has used"}, session.usage);
    field({.number = 10, .name = "lease_left_ms", .help = "until it ends if nobody renews it"},
          session.lease_left);
    field({.number = 11, .name = "labels"}, session.labels);
    field({.number = 12, .name = "created_ms", .help = "in milliseconds since 1970"},
          session.created);
  }
};

}  // namespace nutshell
