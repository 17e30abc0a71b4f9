#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "base/byte_size.h"
#include "cli/command.h"
#include "cli/held_report.h"
#include "cli/print.h"
#include "cli/report.h"
#include "cli/sandbox_choice.h"
#include "runtime/lost_stream.h"
#include "runtime/workspace_diff.h"
#include "wire/kind_names.h"

namespace nutshell::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  nutshell diff                           all changes of the sandbox of this directory
  nutshell diff $ID                       all changes in the workspace
  nutshell diff $ID --stat                one line for each file
  nutshell diff $ID --patch | git apply   binary files included
  nutshell diff $ID --json --path src

Files that 'nutshell apply' would hold back come last, with the reason. A patch leaves them out unless
--path names them. It never has files of a .git directory, because git refuses those.)";

struct DiffFlags {
  std::string id;
  std::vector<std::string> paths;
  bool is_stat = false;
  bool is_json = false;
  bool is_patch = false;
};

nlohmann::ordered_json side(const wire::FileInfo& info) {
  if (info.kind == kNoFile) return nullptr;
  nlohmann::ordered_json object{{"kind", to_string(info.kind)},
                                {"mode", fmt::format("{:04o}", info.mode)},
                                {"size", info.size}};
  if (info.kind == wire::FileKind::Link) object["target"] = info.target;
  return object;
}

nlohmann::ordered_json to_json(const JudgedChange& one) {
  const auto& [change, verdict] = one;
  nlohmann::ordered_json object{{"path", change.path},
                                {"change", to_string(kind_of(change))},
                                {"before", side(change.before)},
                                {"after", side(change.after)}};
  if (is_newly_executable(change)) object["newly_executable"] = true;
  if (held_by(verdict).empty()) return object;
  object["held_by"] = held_by(verdict);
  object["held_tool"] = verdict.tool;
  object["held_why"] = sentence_of(verdict);
  return object;
}

void print_object(const SortedChanges& changes) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const auto* part : {&changes.wanted, &changes.held}) {
    for (const JudgedChange& one : *part)
      list.push_back(to_json(one));
  }
  print_json(nlohmann::ordered_json{{"changes", list}});
}

std::string shape_of(const wire::FileChange& change) {
  if (change.after.kind == wire::FileKind::Directory || change.before.kind == change.after.kind)
    return "";
  const bool is_new_kind = change.before.kind != kNoFile && change.after.kind != kNoFile;
  return is_new_kind ? fmt::format(" ({} became {})", to_string(change.before.kind),
                                   to_string(change.after.kind))
                     : "";
}

std::string commented(std::string_view text) {
  std::string lines = "# ";
  for (const char c : text)
    lines += c == '\n' ? std::string("\n# ") : std::string(1, c);
  return lines + "\n";
}

// Whether --path names this held file, or a directory of it that `apply` would take too.
bool is_named(const JudgedChange& one, const std::vector<std::string>& paths) {
  return std::any_of(paths.begin(), paths.end(), [&](const std::string& given) {
    const std::string named = workspace_path(given);
    return is_at_or_below(named, one.verdict.root) && is_at_or_below(one.change.path, named);
  });
}

// Drops changes that were not selected. They were judged with the whole workspace in view.
void select_judged(SortedChanges& changes, const std::vector<wire::FileChange>& selected) {
  std::set<std::string> paths;
  for (const wire::FileChange& change : selected)
    paths.insert(change.path);
  for (auto* part : {&changes.wanted, &changes.held})
    std::erase_if(*part, [&](const auto& one) { return !paths.contains(one.change.path); });
}

Result<> print_stat(wire::InitClient& client, const wire::FileChange& change) {
  const auto difference = difference_of(client, change, BinaryForm::Named);
  if (!difference && has_hung_up(client)) return Failure(difference.error());
  std::string what = "too large to compare";
  if (difference) {
    what = difference->is_binary
               ? fmt::format("binary, {} bytes", change.after.size)
               : fmt::format("+{} -{}", difference->lines_added, difference->lines_removed);
  }
  const bool is_directory =
      change.after.kind == wire::FileKind::Directory ||
      (change.after.kind == kNoFile && change.before.kind == wire::FileKind::Directory);
  print_out("{} {}{}{}{}\n", letter_of(change), change.path, is_directory ? "/" : "  " + what,
            shape_of(change), executable_mark(change));
  return {};
}

// A file that is too large to read whole is named; the diff goes on.
void name_large(const wire::FileChange& change, BinaryForm form) {
  if (form == BinaryForm::Literal) {
    return print_error(fmt::format("not in the patch, because it is larger than {}: {}",
                                   format_byte_size(kMostShownBytes), change.path));
  }
  print_out("# {}: too large to show: {} bytes, now {}; 'nutshell cp' copies it out\n", change.path,
            change.before.size, change.after.size);
}

Result<> print_patch(wire::InitClient& client, const wire::FileChange& change, BinaryForm form) {
  if (std::max(change.before.size, change.after.size) > kMostShownBytes) {
    name_large(change, form);
    return {};
  }
  const auto difference = TRY(difference_of(client, change, form));
  // git needs the exact bytes.
  if (form == BinaryForm::Literal) {
    print_bytes(difference.patch);
  } else {
    print_text(difference.patch);
  }
  const bool is_left_out =
      form == BinaryForm::Literal &&
      (change.after.kind == wire::FileKind::Other || change.before.kind == wire::FileKind::Other);
  if (is_left_out)
    print_error(fmt::format("not in the patch, because it is not a regular file: {}", change.path));
  return {};
}

// Marks a file that became executable, which is easily overlooked in a patch.
void print_mark(const wire::FileChange& change) {
  if (is_newly_executable(change)) print_out("# {}{}\n", change.path, executable_mark(change));
}

Result<> print_changes(wire::InitClient& client, const std::vector<JudgedChange>& changes,
                       const DiffFlags& flags) {
  for (const auto& [change, verdict] : changes) {
    if (flags.is_stat) {
      TRY(print_stat(client, change));
      continue;
    }
    if (!flags.is_patch) print_mark(change);
    TRY(print_patch(client, change, flags.is_patch ? BinaryForm::Literal : BinaryForm::Named));
  }
  return {};
}

// Leaves out git directories, whose patches git refuses, and held files that --path does not
// name.
Result<> print_for_git(wire::InitClient& client, SortedChanges changes, const DiffFlags& flags) {
  std::vector<JudgedChange> left_out;
  for (auto* part : {&changes.wanted, &changes.held}) {
    std::vector<JudgedChange> kept;
    for (JudgedChange& one : *part) {
      const HostTrust trust = one.verdict.trust;
      const bool is_git = trust == HostTrust::GitData || trust == HostTrust::GitRuns;
      const bool is_left = is_git || (part == &changes.held && !is_named(one, flags.paths));
      (is_left ? left_out : kept).push_back(std::move(one));
    }
    TRY(print_changes(client, kept, flags));
  }
  for (const HeldSummary& one : summarise(left_out)) {
    const bool is_trusted = one.verdict->trust == HostTrust::Trusted;
    print_error(fmt::format("not in the patch: {}: {}", terminal_line(one.path),
                            is_trusted ? sentence_of(*one.verdict) + " (add it with --path)"
                                       : "git refuses patches of a git directory"));
  }
  return {};
}

Result<int> diff(wire::InitClient& client, const DiffFlags& flags) {
  const auto all = TRY(list_workspace_changes(client));
  SortedChanges changes = TRY(judge_workspace(client, all));
  select_judged(changes, TRY(select_changes(all, flags.paths)));
  if (flags.is_json) {
    print_object(changes);
    return 0;
  }
  if (flags.is_patch) {
    TRY(print_for_git(client, std::move(changes), flags));
    return 0;
  }
  TRY(print_changes(client, changes.wanted, flags));
  if (changes.held.empty()) return 0;
  std::string heading = describe_held(changes.held, TakenBy::Path);
  print_text("# 'nutshell apply' holds back these:\n" + commented(heading));
  TRY(print_changes(client, changes.held, flags));
  return 0;
}

}  // namespace

void add_diff(const CommandLine& app, Program& program) {
  const CommandLine command =
      app.add_command("diff", "Show what a sandbox changed in its workspace");
  auto flags = std::make_shared<DiffFlags>();
  command.add_option("ID", flags->id, kSandboxHelp);
  command.add_option("--path", flags->paths,
                     "Only this file, or all below this directory; may be repeated");
  const CommandOption stat =
      command.add_flag("--stat", flags->is_stat, "Print one line for each file");
  const CommandOption json = command.add_flag("--json", flags->is_json, "Print one JSON object");
  command.add_flag("--patch", flags->is_patch, "Print a patch for git apply, binary files included")
      .excludes(stat)
      .excludes(json);
  command.footer(kExamples);
  command.callback([flags, &program] {
    program.chosen = [flags, &program] {
      return with_sandbox(program, flags->id, [&flags](Runtime& runtime, const std::string& id) {
        return with_init_explained(
            runtime, id, [&flags](wire::InitClient& client) { return diff(client, *flags); });
      });
    };
  });
}

}  // namespace nutshell::cli
