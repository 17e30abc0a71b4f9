#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "cli/print.h"
#include "cli/report.h"
#include "runtime/workspace.h"

namespace nutshell::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  nutshell apply $ID --dry-run            what would be written
  nutshell apply $ID                      all of it
  nutshell apply $ID --path src/main.c    one file, or a directory with all below

Each file is replaced at once, or not at all. When a file here changed since the sandbox began, nothing
is written unless --force is given. No link is followed, and set-user-id bits are dropped.)";

struct ApplyFlags {
  std::string id;
  std::vector<std::string> paths;
  bool is_dry_run = false;
  bool is_forced = false;
};

char letter_of(const wire::FileChange& change) {
  if (change.before.kind == kNoFile) return 'A';
  return change.after.kind == kNoFile ? 'D' : 'M';
}

Result<int> apply(Program& program, const ApplyFlags& flags) {
  const ApplyOptions options{flags.paths, flags.is_dry_run ? ApplyMode::DryRun : ApplyMode::Write,
                             flags.is_forced ? Conflicts::Overwritten : Conflicts::Refused};
  const ApplyReport report = TRY(apply_workspace(program.runtime, flags.id, options));
  for (const std::string& path : report.skipped)
    print_error(fmt::format("not applied, neither file, directory nor link: {}", path));
  if (!report.conflicts.empty()) {
    std::string list;
    for (const std::string& conflict : report.conflicts)
      list += "\n  " + conflict;
    return failure(ErrorCode::AlreadyExists,
                   fmt::format("{} conflict{}, nothing was written; look with 'nutshell diff {}', "
                               "leave out with --path, or overwrite with --force:{}",
                               report.conflicts.size(), report.conflicts.size() == 1 ? "" : "s",
                               flags.id, list));
  }
  for (const wire::FileChange& change : report.written)
    print_out("{} {}\n", letter_of(change), change.path);
  return 0;
}

}  // namespace

void add_apply(const CommandLine& app, Program& program) {
  const CommandLine command =
      app.add_command("apply", "Write what a sandbox changed back to the directory of --workspace");
  auto flags = std::make_shared<ApplyFlags>();
  command.add_option("ID", flags->id, "The sandbox").required();
  command.add_option("--path", flags->paths, "Only at or below this path; may be repeated");
  command.add_flag("--dry-run", flags->is_dry_run, "Only say what would be written");
  command.add_flag("--force", flags->is_forced, "Overwrite what changed here meanwhile");
  command.footer(kExamples);
  command.callback(
      [flags, &program] { program.chosen = [flags, &program] { return apply(program, *flags); }; });
}

}  // namespace nutshell::cli
