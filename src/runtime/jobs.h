// Runs the commands of tools. Each command is a change that can be undone. A command that lasts
// longer than its caller waits becomes a job, which any later process can look at. Jobs are
// recorded in the sandbox's output store. Not thread-safe.
#pragma once

#include <functional>
#include <string>

#include "core/backend.h"
#include "runtime/exec_watch.h"
#include "runtime/output_store.h"
#include "tools/tool_context.h"
#include "wire/init_client.h"
#include "wire/tool_schema.h"

namespace nutshell {

// How to treat a command that lasts longer than its caller waits.
enum class BackgroundCommands {
  Kept,     // it becomes a job
  Refused,  // the caller waits for its end; none is started in the background
};

// Larger than any tool asks for.
inline constexpr ExecLimits kNoCommandLimits{std::chrono::hours(24), UINT64_MAX,
                                             std::chrono::hours(24)};

class Jobs : public CommandRunner {
 public:
  static constexpr std::size_t kMostRemembered = 64;

  struct Dependencies {
    // Commands run over its stream too. The stream is closed when a command goes on as a job: init
    // then knows that no host listens.
    wire::InitClient& init;
    OutputStore& outputs;
    CallMemory& memory;
    std::function<Result<>(const std::vector<std::string>& layers)> restack;
    int interrupt = -1;                    // the command is ended when this becomes readable
    std::function<Gone()> why_gone = {};   // asked after the stream broke; may be empty
    ExecLimits limits = kNoCommandLimits;  // upper bounds for each command
    BackgroundCommands background = BackgroundCommands::Kept;
  };
  explicit Jobs(Dependencies uses) : uses_(std::move(uses)) {}

  Result<CommandState> run(const CommandRequest& asked) override;
  Result<CommandState> look(const JobRequest& request) override;
  // The id of the job that was started last; NotFound if there was none.
  [[nodiscard]] Result<std::string> newest() const;

 private:
  struct Record;
  struct Change {
    std::string id;
    std::string why_not;
    bool is_withdrawn = false;  // its layer was not mounted
  };
  Change begin_change(const std::string& label);
  Change try_change(const std::string& label);
  wire::Changed end_change(const Change& change);
  // Lowers the request's limits to the configured ones.
  [[nodiscard]] Result<CommandRequest> bounded(CommandRequest request) const;
  Result<CommandState> settle(Record& record, const ExecWatch& watch);
  CommandState state_of(const Record& record) const;
  void store(Record& record, const ExecWatch& watch);

  [[nodiscard]] std::filesystem::path place() const { return uses_.outputs.directory() / "jobs"; }
  Result<Record> load(const std::string& id) const;
  Result<> save(const Record& record) const;
  Result<std::string> new_id() const;
  [[nodiscard]] std::vector<std::uint64_t> numbers() const;  // of all records, ascending

  Dependencies uses_;
};

}  // namespace nutshell
