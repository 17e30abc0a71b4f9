#include <fmt/format.h>
#include <unistd.h>

#include <memory>

#include "cli/command.h"
#include "cli/held_report.h"
#include "cli/report.h"
#include "cli/sandbox_choice.h"
#include "runtime/copy.h"
#include "runtime/lost_stream.h"

namespace nutshell::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  nutshell cp ./job.py $ID:/workspace/          a file, or a whole directory
  nutshell cp $ID:result ./                     relative to /workspace
  make-data | nutshell cp - $ID:/workspace/data from standard input
  nutshell cp $ID:/workspace/log - | less       to standard output

Works like cp -a: if TARGET is a directory, copies into it, else to that name. Links stay links; modes
are kept, set-user-id bits are not. Nothing out of a sandbox is written outside TARGET.

Out of a directory in a sandbox, two kinds of files are not copied but listed: files that can make git
run a program (.git/config, hooks), which --unsafe-git copies; and files that a tool here would run or
trust by itself (.envrc, .vscode), which you copy by their own name.)";

struct CopyFlags {
  std::string source;
  std::string target;
  bool is_unsafe_git = false;
};

// Parses "ID:PATH". A word with a slash before the colon is a path of this machine.
struct Place {
  std::string id;  // empty: this machine
  std::string path;
};

Place parse_place(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos || text.substr(0, colon).find('/') != std::string::npos)
    return {"", text};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

// A relative path inside begins at /workspace.
std::string path_inside(const std::string& path) {
  if (path.starts_with('/')) return path;
  return path.empty() ? "/workspace" : "/workspace/" + path;
}

Result<> copy_into(wire::InitClient& client, const std::string& source, const Place& target) {
  if (source == "-") return copy_stream_in(client, STDIN_FILENO, target.path, 0644);
  report_skipped(TRY(copy_in(client, source, target.path)));
  return {};
}

Result<> copy_from(wire::InitClient& client, const Place& source, const CopyFlags& flags) {
  const std::string& target = flags.target;
  if (target == "-") return copy_stream_out(client, source.path, STDOUT_FILENO);
  CopyOutOptions options;
  if (flags.is_unsafe_git) options.taking = Taking::UnsafeGit;
  const CopyReport report = TRY(copy_out(client, source.path, target, options));
  report_skipped(report);
  report_held(report.held, TakenBy::Name);
  return {};
}

Result<int> copy(Program& program, const CopyFlags& flags) {
  Place source = parse_place(flags.source);
  Place target = parse_place(flags.target);
  if (source.id.empty() == target.id.empty()) {
    return failure(ErrorCode::InvalidArgument,
                   "exactly one of SOURCE and TARGET must be in a sandbox, as ID:PATH; "
                   "'nutshell list' shows the ids");
  }
  Place& inside = target.id.empty() ? source : target;
  inside.path = path_inside(inside.path);
  if (!target.id.empty()) {
    const std::string id = TRY(chosen_sandbox(program, target.id));
    TRY(with_init_explained(program.runtime, id, [&](wire::InitClient& client) {
      return copy_into(client, flags.source, target);
    }));
    return 0;
  }
  return with_sandbox(program, source.id,
                      [&](Runtime& runtime, const std::string& id) -> Result<int> {
                        TRY(with_init_explained(runtime, id, [&](wire::InitClient& client) {
                          return copy_from(client, source, flags);
                        }));
                        return 0;
                      });
}

}  // namespace

void add_copy(const CommandLine& app, Program& program) {
  const CommandLine command =
      app.add_command("cp", "Copy files and directories into a sandbox, or out of it");
  auto flags = std::make_shared<CopyFlags>();
  command.add_option("SOURCE", flags->source, "A path here, ID:PATH, or - for standard input")
      .required();
  command.add_option("TARGET", flags->target, "ID:PATH, a path here, or - for standard output")
      .required();
  command.add_flag("--unsafe-git", flags->is_unsafe_git,
                   "Also copy files out that can make git run a program");
  command.footer(kExamples);
  command.callback(
      [flags, &program] { program.chosen = [flags, &program] { return copy(program, *flags); }; });
}

}  // namespace nutshell::cli
