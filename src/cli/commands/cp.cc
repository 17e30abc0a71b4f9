#include <fmt/format.h>
#include <unistd.h>

#include <memory>

#include "cli/command.h"
#include "cli/held_report.h"
#include "cli/report.h"
#include "runtime/copy.h"

namespace nutshell::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  nutshell cp ./job.py $ID:/workspace/          a file, or a directory with all that is in it
  nutshell cp $ID:/workspace/result ./
  make-data | nutshell cp - $ID:/workspace/data from standard input
  nutshell cp $ID:/workspace/log - | less       to standard output

As cp -a has it: into a directory that exists, else under that name. Links stay links; modes are
kept, set-user-id bits are not. What comes out of a sandbox cannot be written outside the target.

Of a directory, two kinds of files stay in the sandbox and are listed: those that git could run
something because of (.git/config, hooks; --unsafe-git copies them), and those that a tool here would run
or trust by itself (.envrc, .vscode; copy them by their own name).)";

struct CopyFlags {
  std::string source;
  std::string target;
  bool is_unsafe_git = false;
};

// "ID:PATH"; a name with a slash before the colon is a path of this machine.
struct Place {
  std::string id;  // empty: here
  std::string path;
};

Place parse_place(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos || text.substr(0, colon).find('/') != std::string::npos)
    return {"", text};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

Result<> check_inside(const Place& place) {
  if (place.path.starts_with('/')) return {};
  return failure(
      ErrorCode::InvalidArgument,
      fmt::format("'{}' is not an absolute path inside the sandbox: give {}:/workspace/{}",
                  place.path, place.id, place.path));
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
  const Place source = parse_place(flags.source);
  const Place target = parse_place(flags.target);
  if (source.id.empty() == target.id.empty()) {
    return failure(ErrorCode::InvalidArgument,
                   "one side must be in a sandbox, as ID:/path, and the other here; "
                   "'nutshell list' shows the ids");
  }
  const Place& inside = target.id.empty() ? source : target;
  TRY(check_inside(inside));
  wire::InitClient client = TRY(program.runtime.connect(inside.id));
  auto copied = target.id.empty() ? copy_from(client, source, flags)
                                  : copy_into(client, flags.source, target);
  if (copied) return 0;
  // The stream only tells that it has ended; the sandbox may live on.
  if (copied.error().code == ErrorCode::Unavailable) {
    const Gone gone = program.runtime.why_gone(inside.id);
    if (gone.reason == Gone::Reason::CutOff) return failure(ErrorCode::Unavailable, gone.text);
  }
  return Failure(std::move(copied).error());
}

}  // namespace

void add_copy(const CommandLine& app, Program& program) {
  const CommandLine command =
      app.add_command("cp", "Copy files and directories into a sandbox, or out of it");
  auto flags = std::make_shared<CopyFlags>();
  command.add_option("SOURCE", flags->source, "A path here, ID:/path, or - for standard input")
      .required();
  command.add_option("TARGET", flags->target, "ID:/path, a path here, or - for standard output")
      .required();
  command.add_flag("--unsafe-git", flags->is_unsafe_git,
                   "Out of a sandbox: also what can make git run something");
  command.footer(kExamples);
  command.callback(
      [flags, &program] { program.chosen = [flags, &program] { return copy(program, *flags); }; });
}

}  // namespace nutshell::cli
