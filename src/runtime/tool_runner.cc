#include "runtime/tool_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/utf8_text.h"
#include "compaction/compactor.h"
#include "compaction/gain_log.h"
#include "runtime/lost_stream.h"
#include "tools/result_text.h"
#include "tools/text_budget.h"
#include "tools/visible_text.h"

namespace nutshell {
namespace {

// Makes a result of an error that kept the tool from working. NotFound then means the sandbox: a
// missing file is in the tool's own result.
ToolResult refuse_error(const Error& error) {
  ToolError told{error.code, error.message, {}, {}};
  if (error.code == ErrorCode::NotFound) told.code = ErrorCode::Unavailable;
  if (told.code == ErrorCode::Unavailable)
    told.next = "The sandbox may have ended; 'nutshell list' shows those there are.";
  return refuse(std::move(told));
}

// A conversation that broke off leaves bytes that the next call would read as its own.
bool may_have_broken_off(ErrorCode code) {
  using enum ErrorCode;
  constexpr std::array kCodes = {Unavailable, Internal,          DeadlineExceeded, Cancelled,
                                 Corrupt,     ResourceExhausted, Unsupported,      AlreadyExists};
  return std::find(kCodes.begin(), kCodes.end(), code) != kCodes.end();
}

// Applies the bound that holds for all tools; each tool keeps its own budget before.
void keep_bound(ToolResult& result, const ToolContext& context) {
  const TextBudget most(context, static_cast<std::size_t>(kMostTokens));
  std::string whole = model_text(result.text);
  const bool is_counted = result.tokens > 0 && whole == result.text &&
                          result.tokens <= static_cast<std::size_t>(kMostTokens);
  const bool is_small = whole.size() < kMostRoomKitCharacters / 2;  // it fits, whatever it holds
  if (is_counted && (is_small || context.dialect == Dialect::Nutshell)) return;
  const auto fitted =
      most.fit(1, [&whole](std::size_t parts) { return parts == 1 ? whole : std::string(); });
  if (fitted.parts == 1) {
    result.text = std::move(whole);
    result.tokens = fitted.tokens;
    return;
  }
  const auto cut = most.fit(whole.size(), [&whole](std::size_t bytes) {
    return std::string(whole_characters(whole, bytes)) + "\n(cut)";
  });
  result.text = cut.text;
  result.tokens = cut.tokens;
  result.is_cut = true;
}

std::string first_words(const std::string& command) {
  std::size_t end = command.find_first_of(" \t\n");
  if (end != std::string::npos) end = command.find_first_of(" \t\n", end + 1);
  return command.substr(0, end);
}

// Records the savings for `nutshell gain`; a failure to write them does not fail the call.
void note_gain(const ToolResult& result, const std::string& sandbox) {
  if (result.command.empty() || !result.ending || result.raw_tokens == 0) return;
  const auto path = compaction::GainLog::default_path();
  if (!path) return;
  (void)compaction::GainLog(*path).append(
      {first_words(result.command), sandbox, result.parser, result.raw_tokens, result.tokens});
}

}  // namespace

std::size_t EstimatedTokens::count(std::string_view text) const {
  return compaction::estimate_tokens(text);
}

RenderedOutput CompactingRenderer::render(const CommandOutput& output, Style style,
                                          std::size_t max_tokens) const {
  compaction::Captured captured;
  captured.command = output.command;
  captured.ending = output.ending;
  captured.output = output.output;
  captured.error = output.error;
  captured.recall_id = output.recall_id;
  compaction::RenderOptions options;
  options.style = style == Style::Raw ? compaction::Style::Native : compaction::Style::Nutshell;
  options.max_tokens = max_tokens;
  compaction::Rendering rendering = compaction::render(captured, options);
  return {std::move(rendering.text), std::move(rendering.parser), rendering.tokens,
          rendering.raw_tokens, !rendering.omitted.empty()};
}

Result<ToolRunner> ToolRunner::open(Runtime& runtime, const std::string& sandbox,
                                    const ToolRunnerOptions& options) {
  const std::string id = TRY(runtime.whole_id(sandbox));
  const auto restack = [&runtime, id](const std::vector<std::string>& layers) {
    return runtime.restack(id, layers);
  };
  auto outputs = TRY(OutputStore::open(TRY(outputs_place()), id,
                                       {options.recall_bytes, OutputStore::kMostOutputs}));
  SandboxAccess access{id, [&runtime, id] { return runtime.connect(id); }, restack,
                       std::move(outputs)};
  access.why_gone = [&runtime, id] { return runtime.why_gone(id); };
  return over(std::move(access), options);
}

Result<ToolRunner> ToolRunner::over(SandboxAccess access, const ToolRunnerOptions& options) {
  ToolRunner runner;
  runner.init_ = std::make_unique<wire::InitClient>(TRY(access.connect()));
  runner.sandbox_ = std::move(access.id);
  runner.options_ = options;
  runner.connect_ = std::move(access.connect);
  runner.why_gone_ = access.why_gone;
  runner.outputs_ = std::make_unique<OutputStore>(std::move(access.outputs));
  runner.jobs_ = std::make_unique<Jobs>(Jobs::Dependencies{
      *runner.init_, *runner.outputs_, runner.memory(), std::move(access.restack),
      options.interrupt, std::move(access.why_gone), options.command_limits, options.background});
  return runner;
}

bool ToolRunner::answers(const Deadline& deadline) {
  return init_->channel().is_open() && init_->channel().is_quiet() && init_->ping(deadline);
}

bool ToolRunner::is_connected() {
  return init_->channel().is_open() && init_->channel().is_quiet() && !has_hung_up(*init_);
}

ToolResult ToolRunner::answer(const Tool& tool, CheckedArguments arguments, ToolContext& context) {
  if (auto* error = std::get_if<ToolError>(&arguments)) return refuse(std::move(*error));
  if (!init_->channel().is_open()) {  // the last command became a job and took the stream
    auto init = connect_();
    if (!init) return refuse_error(init.error());
    *init_ = std::move(*init);
  }
  auto result = tool.run(std::get<Arguments>(arguments), context);
  if (result) return std::move(*result);
  Error error = std::move(result).error();
  if (why_gone_ && has_hung_up(*init_)) error = explained(std::move(error), why_gone_());
  return refuse_error(error);
}

ToolResult ToolRunner::run(const Tool& tool, CheckedArguments arguments) {
  ToolContext context{*init_,
                      tokens_,
                      renderer_,
                      *outputs_,
                      *jobs_,
                      memory(),
                      options_.dialect,
                      options_.takes_images,
                      options_.repeats_output,
                      options_.reads_only,
                      options_.wants_fields};
  ToolResult told = answer(tool, std::move(arguments), context);
  const bool is_broken = told.ending ? told.ending->outcome == Outcome::Lost
                                     : told.error && may_have_broken_off(told.error->code);
  is_clean_ = is_clean_ && !is_broken;
  keep_bound(told, context);
  return told;
}

namespace {

// Escapes the text that a model reads. Tools and the compaction engine escape what they show while
// they count tokens; this covers everything added around it.
void make_safe(ToolResult& result) {
  result.text = model_text(result.text);
  result.fields_json = model_json(result.fields_json);
  if (!result.error) return;
  for (std::string* part : {&result.error->what, &result.error->why, &result.error->next})
    *part = model_text(*part);
}

}  // namespace

ToolResult ToolRunner::call(const Tool& tool, CheckedArguments arguments) {
  ToolResult result = run(tool, std::move(arguments));
  make_safe(result);
  if (result.tokens == 0) result.tokens = tokens_.count(result.text);
  if (options_.notes_gain) note_gain(result, sandbox_);
  if (result.raw_tokens == 0) result.raw_tokens = result.tokens;
  return result;
}

}  // namespace nutshell
