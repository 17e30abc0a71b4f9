#include <fmt/format.h>
#include <unistd.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/file.h"
#include "cli/command.h"
#include "cli/print.h"
#include "cli/report.h"
#include "cli/sandbox_choice.h"
#include "cli/signal_events.h"
#include "cli/tool_flags.h"
#include "runtime/tool_runner.h"
#include "tools/registry.h"
#include "tools/schema.h"

namespace nutshell::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  ID=$(nutshell create --workspace .)
  nutshell tool list                                     one line for each tool
  nutshell tool list --json                              the catalogue that a model gets
  nutshell tool schema edit
  nutshell tool call read --sandbox $ID '{"path": "src/main.c", "offset": 40}'
  nutshell tool call bash --sandbox $ID '{"command": "make test"}'
  echo '{"path": "a.txt", "content": "hello\n"}' | nutshell tool call write --sandbox $ID
  nutshell tool call recall --sandbox $ID '{"id": "o7f3a", "grep": "error"}'
  nutshell tool output o7f3a --sandbox $ID > raw.log     all bytes of that output

Prints exactly what a model reads; --json adds the fields for programs.
Exit status: that of the command for bash and git, else 0; 65 if the tool refused (its text says
why); 64 if the call itself was wrong.)";

constexpr std::size_t kMostArguments = 1U << 30U;

struct CallFlags {
  ToolFlags choice;
  std::string name;
  std::string sandbox;
  std::string arguments;
  bool is_json = false;
  bool is_markdown = false;
  bool takes_images = false;
  bool repeats_output = false;
  bool is_error_stream = false;
};

int usage_error(const Error& error) {
  print_error(error.message);
  return kUsageError;
}

// Prints the text exactly as a model gets it; on a terminal, without control characters.
void print_result(const std::string& text) {
  if (::isatty(STDOUT_FILENO) == 0) {
    print_bytes(text + "\n");
  } else {
    print_text(text + "\n");
  }
}

void print_object(const ToolResult& result) {
  nlohmann::ordered_json object;
  object["text"] = result.text;
  if (result.error)
    object["error"] = {{"code", to_string(result.error->code)},
                       {"what", result.error->what},
                       {"why", result.error->why},
                       {"next", result.error->next}};
  if (!result.output_id.empty()) object["output_id"] = result.output_id;
  if (!result.job_id.empty()) object["job_id"] = result.job_id;
  if (!result.undo_id.empty()) object["undo_id"] = result.undo_id;
  object["truncated"] = result.is_cut;
  object["tokens"] = result.tokens;
  object["tokens_raw"] = result.raw_tokens;
  if (!result.fields_json.empty())
    object["fields"] = nlohmann::ordered_json::parse(result.fields_json);
  if (result.image)
    object["image"] = {{"media_type", result.image->media_type},
                       {"base64", to_base64(result.image->bytes)}};
  print_json(object);
}

int status_of(const ToolResult& result) {
  if (result.ending) return exit_status(*result.ending);
  return result.error ? kToolError : 0;
}

Result<std::string> arguments_of(const CallFlags& flags) {
  if (!flags.arguments.empty()) return flags.arguments;
  if (::isatty(STDIN_FILENO) != 0) return std::string("{}");
  std::string text = TRY(read_all(STDIN_FILENO, kMostArguments));
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) return std::string("{}");
  return text;  // not copied: it may be almost a gigabyte
}

Result<int> call(Program& program, const CallFlags& flags) {
  const auto tools = tools_of(flags.choice);
  if (!tools) return usage_error(tools.error());
  const auto tool = find_tool(*tools, flags.name, flags.choice.prefix);
  if (!tool) return usage_error(tool.error());
  const auto arguments = arguments_of(flags);
  if (!arguments) return usage_error(arguments.error());
  const SignalEvents signals;
  ToolRunnerOptions options;
  options.dialect = flags.choice.chosen_dialect();
  options.reads_only = flags.choice.reads_only();
  options.takes_images = flags.takes_images;
  options.wants_fields = flags.is_json;
  options.notes_gain = true;
  options.repeats_output = flags.repeats_output;
  options.interrupt = signals.descriptor();
  const auto chosen = chosen_sandbox(program, flags.sandbox);
  if (!chosen) return usage_error(chosen.error());
  auto runner = ToolRunner::open(program.runtime, *chosen, options);
  const bool is_unknown = !runner && (runner.error().code == ErrorCode::NotFound ||
                                      runner.error().code == ErrorCode::InvalidArgument);
  if (is_unknown) return usage_error(runner.error());
  if (!runner) return Failure(runner.error());
  const ToolResult result =
      runner->call(**tool, parse_arguments(**tool, *arguments, options.dialect));
  if (flags.is_json) {
    print_object(result);
  } else {
    print_result(result.text);
  }
  return status_of(result);
}

Result<int> list(const CallFlags& flags) {
  if (flags.is_markdown) {
    print_bytes(markdown(tool_registry()));
    return 0;
  }
  const auto tools = tools_of(flags.choice);
  if (!tools) return usage_error(tools.error());
  if (flags.is_json) {
    print_json_text(catalogue(*tools, flags.choice.chosen_dialect()));
    return 0;
  }
  std::size_t width = 0;
  for (const Tool& tool : *tools)
    width = std::max(width, tool.name.size());
  for (const Tool& tool : *tools)
    print_out("{:{}}  {}\n", tool.name, width, tool.help);
  return 0;
}

Result<int> schema(const CallFlags& flags) {
  const auto tools = tools_of(flags.choice);
  if (!tools) return usage_error(tools.error());
  const auto tool = find_tool(*tools, flags.name, flags.choice.prefix);
  if (!tool) return usage_error(tool.error());
  const std::string text = tool_schema(**tool, flags.choice.chosen_dialect(), Annotations::Given);
  print_json_text(nlohmann::ordered_json::parse(text).dump(2));
  return 0;
}

Result<int> output(Program& program, const CallFlags& flags) {
  const auto chosen = chosen_sandbox(program, flags.sandbox);
  if (!chosen) return usage_error(chosen.error());
  const auto opened = program.runtime.find(*chosen);
  if (!opened) return usage_error(opened.error());
  OutputStore store = TRY(OutputStore::open(opened->id));
  const auto stored = store.load(flags.name);
  if (!stored) {
    print_error(fmt::format("{}: {}", to_string(stored.error().code), stored.error().message));
    return kToolError;
  }
  const StoredStream& stream = flags.is_error_stream ? stored->error : stored->output;
  TRY(write_all(STDOUT_FILENO, stream.head));
  if (stream.missing > 0)
    print_error(fmt::format("{} bytes in the middle were not kept", stream.missing));
  TRY(write_all(STDOUT_FILENO, stream.tail));
  return 0;
}

using Shared = std::shared_ptr<CallFlags>;

void add_call(const CommandLine& parent, Program& program, const Shared& flags) {
  const CommandLine command = parent.add_command("call", "Call a tool in a sandbox");
  command.add_option("NAME", flags->name, "Name of the tool").required();
  command.add_option("ARGUMENTS", flags->arguments,
                     "A JSON object; without it, read from standard input");
  command.add_option("-s,--sandbox", flags->sandbox, kSandboxHelp);
  command.add_flag("--json", flags->is_json, "Print one JSON object");
  command.add_flag("--images", flags->takes_images, "Let read return images");
  command.add_flag("--repeat-output", flags->repeats_output,
                   "Repeat output that was shown before, instead of 'unchanged since'");
  add_tool_flags(command, flags->choice);
  command.callback(
      [flags, &program] { program.chosen = [flags, &program] { return call(program, *flags); }; });
}

void add_looks(const CommandLine& parent, Program& program, const Shared& flags) {
  const CommandLine listed = parent.add_command("list", "List the tools");
  listed.add_flag("--json", flags->is_json, "Print the catalogue that a model gets");
  listed.add_flag("--markdown", flags->is_markdown, "Print the reference part of docs/tools.md");
  add_tool_flags(listed, flags->choice);
  listed.callback([flags, &program] { program.chosen = [flags] { return list(*flags); }; });
  const CommandLine described = parent.add_command("schema", "Print a tool's JSON schema");
  described.add_option("NAME", flags->name, "Name of the tool").required();
  add_tool_flags(described, flags->choice);
  described.callback([flags, &program] { program.chosen = [flags] { return schema(*flags); }; });
  const CommandLine raw = parent.add_command("output", "Print a stored output, byte for byte");
  raw.add_option("OUTPUT", flags->name, "Its id, like o7f3a").required();
  raw.add_option("-s,--sandbox", flags->sandbox, kSandboxHelp);
  raw.add_flag("--stderr", flags->is_error_stream, "Standard error instead of standard output");
  raw.callback([flags, &program] {
    program.chosen = [flags, &program] { return output(program, *flags); };
  });
}

// The id of a change is a word such as "u3".
std::string undo_arguments(const std::string& change) {
  return change.empty() ? "{}" : nlohmann::json{{"id", change}}.dump();
}

}  // namespace

void add_undo(const CommandLine& app, Program& program) {
  const CommandLine command = app.add_command(
      "undo", "Take back the last change that a tool made, or the one that is named");
  const auto flags = std::make_shared<CallFlags>();
  flags->name = "undo";
  const auto change = std::make_shared<std::string>();
  command.add_option("ID", flags->sandbox, kSandboxHelp);
  command.add_option("--change", *change, "The change, such as u3 (the last one)");
  command.add_flag("--json", flags->is_json, "Print one JSON object");
  command.footer("Examples:\n  nutshell undo\n  nutshell undo $ID --change u3");
  command.callback([flags, change, &program] {
    program.chosen = [flags, change, &program] {
      flags->arguments = undo_arguments(*change);
      return call(program, *flags);
    };
  });
}

void add_tool(const CommandLine& app, Program& program) {
  const CommandLine command =
      app.add_command("tool", "List, describe and call the tools that a model gets");
  const auto flags = std::make_shared<CallFlags>();
  command.require_command(1, 1);
  command.footer(kExamples);
  add_call(command, program, flags);
  add_looks(command, program, flags);
}

}  // namespace nutshell::cli
