#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/held_report.h"
#include "cli/print.h"
#include "cli/report.h"
#include "cli/sandbox_choice.h"
#include "runtime/workspace.h"
#include "wire/kind_names.h"

namespace nutshell::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  nutshell apply $ID --dry-run            only list what would be written
  nutshell apply $ID                      write all changes
  nutshell apply $ID --path src/main.c    one file, or a directory with all below
  nutshell apply $ID --exclude build      all but one directory
  nutshell apply $ID --path .envrc        a file that a tool here would run or trust

Each file is replaced atomically. If a file here changed since the sandbox was made, nothing is written
unless you give --force. Links are not followed, and set-user-id bits are dropped.

What .gitignore names is left out, and listed: build output, caches, dependencies.

Two more kinds of files are not written but listed: files that can make git run a program (.git/config,
hooks), which --unsafe-git writes; and files that a tool here would run or trust by itself (.envrc,
.vscode, scripts of package.json), which you write by naming them or their directory with --path.)";

struct ApplyFlags {
  std::string id;
  std::vector<std::string> paths;
  std::vector<std::string> excluded;
  bool is_dry_run = false;
  bool is_forced = false;
  bool is_unsafe_git = false;
  bool takes_ignored = false;
  bool is_json = false;
};

void print_object(const ApplyFlags& flags, const ApplyReport& report) {
  using Json = nlohmann::ordered_json;
  Json applied = Json::array();
  for (const wire::FileChange& change : report.written) {
    applied.push_back({{"path", change.path},
                       {"change", to_string(kind_of(change))},
                       {"newly_executable", is_newly_executable(change)}});
  }
  Json held = Json::array();
  for (const auto& [change, verdict] : report.held) {
    const bool is_git = verdict.trust == HostTrust::GitRuns;
    held.push_back({{"path", change.path},
                    {"change", to_string(kind_of(change))},
                    {"newly_executable", is_newly_executable(change)},
                    {"held_by", held_by(verdict)},
                    {"held_tool", verdict.tool},
                    {"held_why", sentence_of(verdict)},
                    {"take_with", is_git ? "--unsafe-git" : "--path " + verdict.root}});
  }
  const Json object{
      {"dry_run", flags.is_dry_run}, {"applied", applied},        {"held", held},
      {"skipped", report.skipped},   {"ignored", report.ignored}, {"conflicts", report.conflicts}};
  print_json(object);
}

Failure conflicts_failure(const std::string& id, const std::vector<std::string>& conflicts) {
  std::string list;
  for (const std::string& conflict : conflicts)
    list += "\n  " + conflict;
  return failure(ErrorCode::AlreadyExists,
                 fmt::format("{} conflict{}, nothing was written; look with 'nutshell diff {}', "
                             "leave them out with --exclude, or overwrite with --force:{}",
                             conflicts.size(), conflicts.size() == 1 ? "" : "s", id, list));
}

// Commits of a sandbox may contain the files that are held back.
bool takes_commits(const ApplyReport& report) {
  return std::any_of(report.written.begin(), report.written.end(), [](const auto& change) {
    return change.path.find(".git/objects/") != std::string::npos;
  });
}

void print_report(const ApplyReport& report) {
  for (const wire::FileChange& change : report.written) {
    print_out("{} {}{}\n", letter_of(change), change.path, executable_mark(change));
  }
  report_held(report.held, TakenBy::Path);
  if (!report.held.empty() && takes_commits(report)) {
    print_error(
        "git's objects were applied; commits in them may hold the files that were held back, and "
        "'git checkout' or 'git restore' would write those");
  }
}

void report_ignored(const std::map<std::string, std::size_t>& ignored) {
  if (ignored.empty()) return;
  constexpr std::size_t kMostShown = 10;
  std::size_t shown = 0;
  std::string list;
  for (const auto& [path, count] : ignored) {
    if (++shown > kMostShown) break;
    list += fmt::format("\n  {}{}", path, count > 1 ? fmt::format(" ({} changes)", count) : "");
  }
  if (ignored.size() > kMostShown)
    list += fmt::format("\n  and {} more", ignored.size() - kMostShown);
  print_error(
      "not applied, because .gitignore names it; take it with --path or --include-ignored:" + list);
}

Result<int> apply(Runtime& runtime, const std::string& id, const ApplyFlags& flags) {
  const ApplyOptions options{flags.paths,
                             flags.is_dry_run ? ApplyMode::DryRun : ApplyMode::Write,
                             flags.is_forced ? Conflicts::Overwritten : Conflicts::Refused,
                             flags.is_unsafe_git ? UnsafeGit::Taken : UnsafeGit::HeldBack,
                             flags.excluded,
                             flags.takes_ignored ? Ignored::Taken : Ignored::LeftOut};
  const ApplyReport report = TRY(apply_workspace(runtime, id, options));
  if (flags.is_json) print_object(flags, report);
  for (const std::string& path : report.skipped)
    print_error(
        fmt::format("not applied, because it is neither a file, a directory nor a link: {}", path));
  if (!report.conflicts.empty()) return conflicts_failure(flags.id, report.conflicts);
  const bool is_all_held = report.written.empty() && !report.held.empty();
  if (!flags.paths.empty() && is_all_held) {
    return failure(ErrorCode::PermissionDenied,
                   "nothing was written: " + describe_held(report.held, TakenBy::Path));
  }
  if (flags.is_json) return 0;
  print_report(report);
  report_ignored(report.ignored);
  return 0;
}

}  // namespace

void add_apply(const CommandLine& app, Program& program) {
  const CommandLine command =
      app.add_command("apply", "Write what a sandbox changed back to the directory of --workspace");
  auto flags = std::make_shared<ApplyFlags>();
  command.add_option("ID", flags->id, kSandboxHelp);
  command.add_option("--path,--only", flags->paths,
                     "Only this file, or all below this directory; may be repeated");
  command.add_option("--exclude", flags->excluded,
                     "Not this file, nor what is below this directory; may be repeated");
  command.add_flag("--dry-run", flags->is_dry_run, "Only list what would be written");
  command.add_flag("--force", flags->is_forced,
                   "Overwrite files that changed here since the sandbox was made");
  command.add_flag("--unsafe-git", flags->is_unsafe_git,
                   "Also write files that can make git run a program: hooks, configuration");
  command.add_flag("--include-ignored", flags->takes_ignored,
                   "Also write what .gitignore names and no index of git has");
  command.add_flag("--json", flags->is_json, "Print one JSON object");
  command.footer(kExamples);
  command.callback([flags, &program] {
    program.chosen = [flags, &program] {
      return with_sandbox(program, flags->id, [&flags](Runtime& runtime, const std::string& id) {
        return apply(runtime, id, *flags);
      });
    };
  });
}

}  // namespace nutshell::cli
