// Runs tool calls on one sandbox: gives the tool what it needs, and keeps the result within its
// bounds. Not thread-safe.
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
  bool notes_gain = false;  // records savings for `nutshell gain`
  int interrupt = -1;       // a running command is ended when this becomes readable
  // Upper bounds for a command, whatever the tool's arguments say.
  ExecLimits command_limits = kNoCommandLimits;
  BackgroundCommands background = BackgroundCommands::Kept;
  std::uint64_t recall_bytes = OutputStore::kMostBytes;  // for whole outputs that are kept
  CallMemory* memory = nullptr;  // charged with what a call holds; nullptr: no account
};

// Counts tokens as the compaction engine estimates them.
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

  // How a runner reaches a sandbox: streams to its init, and a place for its outputs.
  struct SandboxAccess {
    std::string id;
    // Called for the first stream, and again after a command became a job and took its stream.
    std::function<Result<wire::InitClient>()> connect;
    std::function<Result<>(const std::vector<std::string>& layers)> restack;
    OutputStore outputs;
    std::function<Gone()> why_gone = {};  // asked after the stream broke; may be empty
  };
  static Result<ToolRunner> over(SandboxAccess access, const ToolRunnerOptions& options);

  // Always returns a result; it may hold an error.
  ToolResult call(const Tool& tool, CheckedArguments arguments);

  // Whether the last call left nothing on the stream, so that any other call can use it.
  [[nodiscard]] bool is_stream_clean() const { return is_clean_ && init_->channel().is_open(); }
  // Whether its init answers: the sandbox may have ended since the last call.
  [[nodiscard]] bool answers(const Deadline& deadline);
  // Whether its stream is open and nothing is on it, as far as can be told without asking init.
  [[nodiscard]] bool is_connected();
  // Gives the stream away, for example to Runtime::keep(). Make no more calls afterwards.
  wire::InitClient release() && { return std::move(*init_); }

  OutputStore& outputs() { return *outputs_; }
  [[nodiscard]] const std::string& sandbox() const { return sandbox_; }

 private:
  ToolRunner() = default;
  ToolResult run(const Tool& tool, CheckedArguments arguments);
  ToolResult answer(const Tool& tool, CheckedArguments arguments, ToolContext& context);

  [[nodiscard]] CallMemory& memory() {
    return options_.memory != nullptr ? *options_.memory : *no_account_;
  }

  std::string sandbox_;
  ToolRunnerOptions options_;
  std::function<Result<wire::InitClient>()> connect_;
  std::function<Gone()> why_gone_;
  bool is_clean_ = true;
  // On the heap, because the members below refer to those above.
  std::unique_ptr<wire::InitClient> init_;
  std::unique_ptr<OutputStore> outputs_;
  std::unique_ptr<CallMemory> no_account_ = std::make_unique<CallMemory>();
  std::unique_ptr<Jobs> jobs_;
  EstimatedTokens tokens_;
  CompactingRenderer renderer_;
};

}  // namespace nutshell
