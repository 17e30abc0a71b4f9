// Runs tool calls on one sandbox: gives the tool what it needs, and sees to it that the text keeps
// its bounds. Not thread-safe.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/tool.h"
#include "runtime/jobs.h"
#include "runtime/output_store.h"
#include "runtime/runtime.h"
#include "tools/argument_parser.h"
#include "tools/tool_context.h"

namespace nutshell {

struct ToolRunnerOptions {
  Dialect dialect = Dialect::Nutshell;
  bool takes_images = false;
  bool repeats_output = false;
  bool reads_only = false;
  bool wants_fields = false;
  bool notes_gain = false;  // in the user's book of what compaction saved
  int interrupt = -1;       // readable: a command that runs is to be ended
  // What a command may use at most, whatever the tool's arguments say.
  ExecLimits command_limits = kNoCommandLimits;
  BackgroundCommands background = BackgroundCommands::Kept;
  std::uint64_t recall_bytes = OutputStore::kMostBytes;  // whole outputs that are kept
};

// Tokens as the compaction engine estimates them.
class EstimatedTokens : public TokenCounter {
 public:
  [[nodiscard]] std::size_t count(std::string_view text) const override;
};
class CompactingRenderer : public OutputRenderer {
 public:
  [[nodiscard]] RenderedOutput render(const CommandOutput& output, Style style,
                                      std::size_t max_tokens) const override;
};

class ToolRunner {
 public:
  // Uses an idle stream of the runtime if there is one.
  static Result<ToolRunner> open(Runtime& runtime, const std::string& sandbox,
                                 const ToolRunnerOptions& options);

  // A runner reaches a sandbox by these: ways to its init, and a place for its outputs.
  struct SandboxAccess {
    std::string id;
    // Called for the first stream, and again when a command became a job and took its stream along.
    std::function<Result<wire::InitClient>()> connect;
    std::function<Result<>(const std::vector<std::string>& layers)> restack;
    OutputStore outputs;
    std::function<Gone()> why_gone = {};  // asked when the stream was lost; may be empty
  };
  static Result<ToolRunner> over(SandboxAccess access, const ToolRunnerOptions& options);

  // Always a result: what went wrong is in it too.
  ToolResult call(const Tool& tool, CheckedArguments arguments);

  // Whether nothing of the last call is left on the stream: any other call can use it.
  [[nodiscard]] bool is_stream_clean() const { return is_clean_ && init_->channel().is_open(); }
  // Whether its init answers: the sandbox may have ended since the last call.
  [[nodiscard]] bool answers(const Deadline& deadline);
  // Gives its stream away, to Runtime::keep() for instance; this runner makes no more calls.
  wire::InitClient release() && { return std::move(*init_); }

  OutputStore& outputs() { return *outputs_; }
  [[nodiscard]] const std::string& sandbox() const { return sandbox_; }

 private:
  ToolRunner() = default;
  ToolResult run(const Tool& tool, CheckedArguments arguments);
  ToolResult answer(const Tool& tool, CheckedArguments arguments, ToolContext& context);

  std::string sandbox_;
  ToolRunnerOptions options_;
  std::function<Result<wire::InitClient>()> connect_;
  std::function<Gone()> why_gone_;
  bool is_clean_ = true;
  // Of a fixed place: the ones below refer to the ones above.
  std::unique_ptr<wire::InitClient> init_;
  std::unique_ptr<OutputStore> outputs_;
  std::unique_ptr<Jobs> jobs_;
  EstimatedTokens tokens_;
  CompactingRenderer renderer_;
};

}  // namespace nutshell
