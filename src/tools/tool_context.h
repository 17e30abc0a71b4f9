// Everything a tool may use while it runs: the sandbox, the token counter, commands and stored
// outputs.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/tool.h"
#include "tools/call_memory.h"
#include "tools/stored_output.h"
#include "wire/init_client.h"
#include "wire/tool_schema.h"

namespace nutshell {

// The names and conventions that a call follows.
enum class Dialect : std::uint8_t {
  Nutshell,
  RoomKit,  // RoomKit's names; lines counted from 0; results short enough for its channel
};

// Stores whole outputs by id, for recall.
class OutputKeeper {
 public:
  virtual ~OutputKeeper() = default;
  // NotFound if the id is unknown or its output was evicted.
  virtual Result<StoredOutput> load(const std::string& id) = 0;
  // How many bytes load() would return; zero if it would fail.
  [[nodiscard]] virtual std::uint64_t size_of(const std::string& id) const = 0;
  virtual Result<std::string> keep(const std::string& command, std::string_view output) = 0;

  // Returns the id under which the same text was last shown for the same question. If there is
  // none, returns an empty string and remembers the text under `id`.
  virtual Result<std::string> shown_before(std::string_view question, std::string_view text,
                                           const std::string& id) = 0;
};

struct CommandRequest {
  std::vector<std::string> argv;
  std::vector<std::string> environment;
  std::string working_directory;
  std::string shown;  // the command as a user would type it
  std::chrono::milliseconds timeout{120'000};
  std::chrono::milliseconds wait{30'000};  // after this it becomes a job
  bool reads_only = false;                 // it changes no file, so undo needs no copy
};
struct JobRequest {
  std::string id;
  std::string input;
  bool stops = false;
  std::chrono::milliseconds wait{10'000};
};

// A command and its output since the last look.
struct CommandState {
  std::string shown;
  std::optional<ExecResult> ending;  // nullopt: it still runs, as job_id
  std::string job_id;
  std::string output_id;            // of its whole output so far; empty: it could not be stored
  std::string output, error;        // since the last look, whole or only the end
  std::uint64_t missing_bytes = 0;  // printed since the last look, but not in these
  std::uint64_t total_lines = 0;    // since its start
  bool has_all_lines = false;       // false: total_lines may lack lines that nobody saw
  std::chrono::milliseconds age{0};
  wire::Changed changed;  // changes to files; known once it has ended
};

// Runs commands in the sandbox, each as a change that can be undone.
class CommandRunner {
 public:
  virtual ~CommandRunner() = default;
  virtual Result<CommandState> run(const CommandRequest& request) = 0;
  // NotFound if there is no such job.
  virtual Result<CommandState> look(const JobRequest& request) = 0;
};

struct ToolContext {
  wire::InitClient& init;
  const TokenCounter& tokens;
  const OutputRenderer& renderer;
  OutputKeeper& outputs;
  CommandRunner& commands;
  CallMemory& memory;
  Dialect dialect = Dialect::Nutshell;
  bool takes_images = false;    // the caller can show them
  bool repeats_output = false;  // also output that was shown before
  bool reads_only = false;      // git only runs subcommands that read
  bool wants_fields = false;    // set fields_json, which programs read and models do not
};

}  // namespace nutshell
