#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/safe_text.h"
#include "cli/command.h"
#include "cli/print.h"
#include "cli/report.h"
#include "compaction/compactor.h"
#include "compaction/renderer_directory.h"
#include "compaction/user_renderer.h"

namespace nutshell::cli {
namespace {

namespace fs = std::filesystem;
using compaction::Captured;
using compaction::load_project_renderers;
using compaction::load_user_renderers;
using compaction::LoadedRenderers;
using compaction::Omission;
using compaction::Rendering;
using compaction::RenderOptions;
using compaction::Style;
using compaction::TrustedRenderers;
using compaction::UserRenderer;

constexpr std::size_t kMostInput = 1U << 30U;
constexpr const char* kProjectRenderers = ".nutshell/renderers";

struct RenderFlags {
  std::string command;
  int exit_code = 0;
  std::string error_file;
  std::string style = "nutshell";
  std::size_t max_tokens = RenderOptions().max_tokens;
  std::string id;
  bool is_explained = false;
  bool is_json = false;
  std::string directory = kProjectRenderers;
};

struct Renderers {
  std::vector<UserRenderer> all;
  std::vector<std::string> problems;
};

void add_to(Renderers& renderers, LoadedRenderers loaded) {
  std::move(loaded.renderers.begin(), loaded.renderers.end(), std::back_inserter(renderers.all));
  std::move(loaded.problems.begin(), loaded.problems.end(), std::back_inserter(renderers.problems));
}

// The user's own renderers come first, so that a project cannot replace them.
Result<Renderers> load_renderers() {
  Renderers renderers;
  const fs::path trusted = TRY(TrustedRenderers::default_path());
  add_to(renderers, load_user_renderers(trusted.parent_path() / "renderers"));
  add_to(renderers, load_project_renderers(kProjectRenderers, TrustedRenderers(trusted)));
  return renderers;
}

Result<RenderOptions> to_options(const RenderFlags& flags, const Renderers& renderers) {
  RenderOptions options;
  options.max_tokens = flags.max_tokens;
  options.renderers = renderers.all;
  if (flags.style == "native") options.style = Style::Native;
  if (flags.style == "native" || flags.style == "nutshell") return options;
  for (const UserRenderer& renderer : renderers.all) {
    if (renderer.name() == flags.style) options.only_renderer = renderer.name();
  }
  if (options.only_renderer.empty()) {
    return failure(ErrorCode::NotFound,
                   fmt::format("--style: there is no renderer '{}'{}{}", flags.style,
                               renderers.problems.empty() ? "" : "; not used: ",
                               fmt::join(renderers.problems, "; ")));
  }
  return options;
}

void print_object(const Rendering& rendering) {
  nlohmann::ordered_json omitted = nlohmann::ordered_json::array();
  for (const Omission& omission : rendering.omitted)
    omitted.push_back({{"what", omission.what}, {"lines", omission.lines}});
  const nlohmann::ordered_json object = {
      {"text", rendering.text},     {"parser", rendering.parser},
      {"reason", rendering.reason}, {"raw_tokens", rendering.raw_tokens},
      {"tokens", rendering.tokens}, {"omitted", omitted}};
  print_json(object);
}

void explain(const Rendering& rendering, const Renderers& renderers) {
  const double share = rendering.raw_tokens == 0 ? 1
                                                 : static_cast<double>(rendering.tokens) /
                                                       static_cast<double>(rendering.raw_tokens);
  print_out("parser: {}\nwhy: {}\ntokens: {} of {} ({:.0f} %)\n", rendering.parser,
            rendering.reason, rendering.tokens, rendering.raw_tokens, share * 100);
  for (const Omission& omission : rendering.omitted) {
    if (omission.lines > 0) print_out("left out: {} {}\n", omission.lines, omission.what);
  }
  for (const std::string& problem : renderers.problems)
    print_out("not used: {}\n", problem);
}

Result<int> render_input(const RenderFlags& flags) {
  const auto output = TRY(read_all(STDIN_FILENO, kMostInput));
  std::string error;
  if (!flags.error_file.empty()) error = TRY(read_file(flags.error_file, kMostInput));
  Captured captured;
  captured.command = flags.command;
  captured.ending.outcome = Outcome::Exited;
  captured.ending.exit_code = flags.exit_code;
  captured.output = output;
  captured.error = error;
  captured.recall_id = flags.id;
  const auto renderers = TRY(load_renderers());
  auto rendering = compaction::render(captured, TRY(to_options(flags, renderers)));
  rendering.text = model_text(rendering.text);  // as a tool's answer is
  if (flags.is_json) {
    print_object(rendering);
  } else if (flags.is_explained) {
    explain(rendering, renderers);
  } else {
    TRY(write_all(STDOUT_FILENO, rendering.text));
  }
  return 0;
}

Result<int> trust(const RenderFlags& flags) {
  const TrustedRenderers trusted(TRY(TrustedRenderers::default_path()));
  const auto loaded = load_user_renderers(flags.directory);
  for (const std::string& problem : loaded.problems)
    print_error("not used: " + problem);
  print_out("trusted {} files of {}\n", TRY(trusted.trust(flags.directory)), flags.directory);
  return 0;
}

Result<int> untrust(const RenderFlags& flags) {
  const TrustedRenderers trusted(TRY(TrustedRenderers::default_path()));
  print_out("{} files are no longer trusted\n", TRY(trusted.untrust(flags.directory)));
  return 0;
}

using Action = Result<int> (*)(const RenderFlags&);

void add_directory(const CommandLine& added, Program& program,
                   const std::shared_ptr<RenderFlags>& flags, Action action) {
  added.add_option("DIRECTORY", flags->directory, "Directory of renderer files").shows_default();
  added.callback(
      [flags, &program, action] { program.chosen = [flags, action] { return action(*flags); }; });
}

}  // namespace

void add_render(const CommandLine& app, Program& program) {
  const CommandLine command =
      app.add_command("render", "Compact a command's output as a model would read it");
  auto flags = std::make_shared<RenderFlags>();
  command.add_option("--command", flags->command, "The command that printed it, as shell text");
  command.add_option("--exit-code", flags->exit_code, "Its exit status").shows_default();
  command.add_option("--stderr", flags->error_file, "File with its standard error");
  command.add_option("--style", flags->style, "nutshell, native, or the name of a renderer")
      .shows_default();
  command.add_option("--max-tokens", flags->max_tokens, "Longest result, in tokens")
      .shows_default();
  command.add_option("--id", flags->id, "Output id that the text names for recall");
  command.add_flag("--explain", flags->is_explained,
                   "Print which parser ran and what was left out instead");
  command.add_flag("--json", flags->is_json, "Print a JSON object");
  command.footer(
      "Reads standard input:  make test 2>&1 | nutshell render --command 'make test' "
      "--exit-code 2\n"
      "Your own renderers are read from ~/.config/nutshell/renderers, and those of a project from "
      ".nutshell/renderers once you trust them.");
  command.require_command(0, 1);
  command.callback([flags, command, &program] {
    if (command.has_chosen_command()) return;
    program.chosen = [flags] { return render_input(*flags); };
  });
  add_directory(command.add_command("trust", "Trust the renderers of a project as they are now"),
                program, flags, trust);
  add_directory(command.add_command("untrust", "No longer trust them"), program, flags, untrust);
}

}  // namespace nutshell::cli
