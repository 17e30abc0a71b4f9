// What a tool finds around it while it runs: the sandbox, the budget, and what is kept of outputs.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/tool.h"
#include "tools/stored_output.h"
#include "wire/init_client.h"
#include "wire/tool_schema.h"

namespace nutshell {

// Whose habits a call follows.
enum class Dialect : std::uint8_t {
  Nutshell,
  RoomKit,  // its names; lines counted from 0; results that its channel does not cut
};

// Whole outputs by id, for recall.
class OutputKeeper {
 public:
  virtual ~OutputKeeper() = default;
  // Not found: the id is not, or not any more, kept.
  virtual Result<StoredOutput> load(const std::string& id) = 0;
  virtual Result<std::string> keep(const std::string& command, std::string_view output) = 0;

  // The id under which this very text was shown for the same question, if it was; else notes that
  // it now is, under `id`.
  virtual Result<std::string> shown_before(std::string_view question, std::string_view text,
                                           const std::string& id) = 0;
};

struct CommandRequest {
  std::vector<std::string> argv;
  std::vector<std::string> environment;
  std::string working_directory;
  std::string shown;  // as one would type it
  std::chrono::milliseconds timeout{120'000};
  std::chrono::milliseconds wait{30'000};  // then it becomes a job
  bool reads_only = false;                 // it changes no file: nothing has to be kept for undo
};
struct JobRequest {
  std::string id;
  std::string input;
  bool stops = false;
  std::chrono::milliseconds wait{10'000};
};

// A command at the moment it is looked at.
struct CommandState {
  std::string shown;
  std::optional<ExecResult> ending;  // none: it still runs, as job_id
  std::string job_id;
  std::string output_id;            // its whole output so far; empty: it could not be kept
  std::string output, error;        // since the last look, in full or the end of it
  std::uint64_t missing_bytes = 0;  // printed since the last look, and not in these
  std::uint64_t total_lines = 0;    // since its start
  std::chrono::milliseconds age{0};
  wire::Changed changed;  // what it did to files; known at its end
};

// Runs commands in the sandbox, each as a change that can be taken back.
class CommandRunner {
 public:
  virtual ~CommandRunner() = default;
  virtual Result<CommandState> run(const CommandRequest& request) = 0;
  // Not found: there is no such job.
  virtual Result<CommandState> look(const JobRequest& request) = 0;
};

struct ToolContext {
  wire::InitClient& init;
  const TokenCounter& tokens;
  const OutputRenderer& renderer;
  OutputKeeper& outputs;
  CommandRunner& commands;
  Dialect dialect = Dialect::Nutshell;
  bool takes_images = false;    // the caller can show them
  bool repeats_output = false;  // also what was shown before
  bool reads_only = false;      // git too
  bool wants_fields = false;    // programs do; for a model they are work for nothing
};

}  // namespace nutshell
