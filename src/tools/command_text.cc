#include "tools/command_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "core/left_running.h"
#include "core/line_diff.h"
#include "core/refused_text.h"
#include "tools/result_text.h"
#include "tools/visible_text.h"

namespace nutshell {
namespace {

constexpr std::size_t kWorthRecalling = 300;              // tokens; a shorter text is shown again
constexpr std::size_t kSearchedForNetwork = 256U << 10U;  // bytes at the end of each stream
constexpr std::size_t kTailLines = 40;                    // shown of a command that still runs

std::string seconds_of(std::chrono::microseconds duration) {
  const double seconds = std::chrono::duration<double>(duration).count();
  return seconds < 10 ? fmt::format("{:.1f}s", seconds) : fmt::format("{:.0f}s", seconds);
}

std::string ending_of(const ExecResult& ending) {
  if (ending.outcome == Outcome::Exited)
    return fmt::format("exit {}, {}", ending.exit_code, seconds_of(ending.duration));
  return fmt::format("{}, {}", to_string(ending.outcome), seconds_of(ending.duration));
}

std::string missing_note(const CommandState& state) {
  if (state.missing_bytes == 0) return {};
  std::string total;
  if (state.ending && state.has_all_lines)
    total = fmt::format("; in all it printed {} bytes, {}",
                        state.ending->stdout_bytes + state.ending->stderr_bytes,
                        count_of(state.total_lines, "line"));
  return fmt::format("\n({} bytes in between are gone: the command printed more than is kept{})",
                     state.missing_bytes, total);
}

// Messages of programs that could not resolve a name or found no route.
constexpr std::array<std::string_view, 14> kNetworkErrors = {"Could not resolve host",
                                                             "could not resolve host",
                                                             "Temporary failure in name resolution",
                                                             "Temporary failure resolving",
                                                             "Name or service not known",
                                                             "unable to resolve host address",
                                                             "No address associated with hostname",
                                                             "getaddrinfo ENOTFOUND",
                                                             "getaddrinfo EAI_AGAIN",
                                                             "no such host",
                                                             "failed to lookup address",
                                                             "UnknownHostException",
                                                             "NameResolutionError",
                                                             "Network is unreachable"};

// Says why a command failed that needed the network: nothing it prints itself can tell.
std::string network_note(const CommandState& state) {
  if (const std::string refused = refused_text(*state.ending); !refused.empty())
    return fmt::format("\n({}. Trying again is no use.)", model_text(refused));
  const bool is_good = state.ending->outcome == Outcome::Exited && state.ending->exit_code == 0;
  if (is_good) return {};
  for (const std::string* text : {&state.error, &state.output}) {
    const std::string_view end =
        std::string_view(*text).substr(text->size() - std::min(text->size(), kSearchedForNetwork));
    for (const std::string_view words : kNetworkErrors)
      if (end.find(words) != std::string_view::npos)
        return "\n(The sandbox has no network: no name can be resolved, and trying again is no "
               "use.)";
  }
  return {};
}

// A server that a command started in the background does not live long.
std::string left_running_note(const CommandState& state) {
  if (!state.ending->detail.starts_with(kLeftRunning)) return {};
  return fmt::format("\n({}. Start a server with wait=0: it is then a job.)",
                     model_text(state.ending->detail));
}

std::string fields_of(const CommandState& state) {
  nlohmann::ordered_json fields;
  if (state.ending) {
    const ExecResult& ending = *state.ending;
    fields["outcome"] = to_string(ending.outcome);
    if (ending.outcome == Outcome::Exited) fields["exit_code"] = ending.exit_code;
    if (ending.outcome == Outcome::Signalled) fields["signal"] = ending.signal;
    fields["duration_ms"] = ending.duration.count() / 1000;
    fields["stdout_bytes"] = ending.stdout_bytes;
    fields["stderr_bytes"] = ending.stderr_bytes;
  } else {
    fields["outcome"] = "running";
  }
  fields["missing_bytes"] = state.missing_bytes;
  if (state.changed.total_changes > 0)
    fields["changed"] = nlohmann::ordered_json::parse(change_fields(state.changed));
  return fields.dump();
}

// "running, 30s so far. job j4, 212 lines so far. last:", then its last lines and how to go on.
ToolResult tell_running(const CommandState& state, const TextBudget& budget) {
  const std::string printed = state.output + state.error;
  std::vector<std::string_view> lines = split_lines(printed);
  const std::size_t most = std::min(lines.size(), kTailLines);
  const auto fitted = budget.fit(most, [&](std::size_t count) {
    std::string text =
        fmt::format("running, {} so far. job {}, {} so far{}", seconds_of(state.age), state.job_id,
                    count_of(state.total_lines, "line"), count > 0 ? ". last:" : ", nothing new");
    for (std::size_t i = lines.size() - count; i < lines.size(); ++i) {
      text += "\n" + model_text(lines[i].substr(0, std::min<std::size_t>(lines[i].size(), 1000)));
      if (text.ends_with('\n')) text.pop_back();
    }
    text += missing_note(state);
    if (count < lines.size() && !state.output_id.empty())
      text += fmt::format("\n({} more lines: recall {})", lines.size() - count, state.output_id);
    return text + fmt::format("\n(job {0} to continue; stop with job {0} stop=true)", state.job_id);
  });
  ToolResult result;
  result.text = fitted.text;
  result.is_cut = fitted.parts < lines.size();
  return result;
}

// Adds what to do about a timeout to the text, and the error code for programs.
void mark_timeout(ToolResult& result, const ExecResult& ending) {
  if (ending.outcome != Outcome::TimedOut) return;
  const std::string next = "Use wait=0 or a larger timeout.";
  result.error = ToolError{ErrorCode::DeadlineExceeded,
                           "the command was stopped: " + model_text(ending.detail),
                           {},
                           next};
  result.text += "\n" + next;
}

Result<ToolResult> tell_ended(const CommandState& state, ToolContext& context,
                              const TextBudget& budget, const CommandTelling& telling) {
  const std::string changes = model_text(change_sentence(state.changed));
  const std::string notes = missing_note(state) + network_note(state) + left_running_note(state) +
                            (changes.empty() ? "" : "\n" + changes);
  const std::size_t kept_back = context.tokens.count(notes) + 16;
  const std::size_t room =
      budget.max_tokens() > kept_back + 100 ? budget.max_tokens() - kept_back : 100;
  const CommandOutput output{state.shown, *state.ending, state.output, state.error,
                             state.output_id};
  const bool is_whole_question = !telling.question.empty() && !state.output_id.empty();
  ToolResult result;
  for (std::size_t most = room;; most /= 2) {
    RenderedOutput rendered = context.renderer.render(output, telling.style, most);
    result.text = model_text(rendered.text);
    result.parser = std::move(rendered.parser);
    result.raw_tokens = rendered.raw_tokens;
    result.is_cut = rendered.is_cut;
    if (budget.fits(result.text + notes) || most < 50) break;  // RoomKit counts characters too
  }
  if (is_whole_question && !context.repeats_output &&
      context.tokens.count(result.text) >= kWorthRecalling) {
    const std::string key = fmt::format("{}\n{}", telling.question, budget.max_tokens());
    const std::string content =
        fmt::format("{}\n{}\n{}", state.ending->exit_code, state.output, state.error);
    const std::string before = TRY(context.outputs.shown_before(key, content, state.output_id));
    if (!before.empty())
      result.text = fmt::format("{}. output unchanged since {} ({}; recall {} shows it)",
                                ending_of(*state.ending), before,
                                count_of(state.total_lines, "line"), before);
  }
  if (result.text.ends_with('\n')) result.text.pop_back();
  if (telling.ending == CommandTelling::Ending::Told && !result.text.starts_with("exit "))
    result.text.insert(0, ending_of(*state.ending) + (result.text.empty() ? "" : "\n"));
  result.text += notes;
  mark_timeout(result, *state.ending);
  return result;
}

}  // namespace

Result<ToolResult> tell_command(const CommandState& state, ToolContext& context,
                                const TextBudget& budget, const CommandTelling& telling) {
  ToolResult result =
      state.ending ? TRY(tell_ended(state, context, budget, telling)) : tell_running(state, budget);
  result.command = state.shown;
  result.ending = state.ending;
  result.output_id = state.output_id;
  result.job_id = state.job_id;
  result.undo_id = model_text(state.changed.undo_id);
  result.fields_json = fields_of(state);
  return result;
}

}  // namespace nutshell
