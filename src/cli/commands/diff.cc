#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/print.h"
#include "cli/report.h"
#include "runtime/workspace_diff.h"

namespace nutshell::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  nutshell diff $ID                       what the sandbox changed in its workspace
  nutshell diff $ID --stat                one line for each file
  nutshell diff $ID --patch | git apply   with all bytes of binary files too
  nutshell diff $ID --json --path src)";

struct DiffFlags {
  std::string id;
  std::vector<std::string> paths;
  bool is_stat = false;
  bool is_json = false;
  bool is_patch = false;
};

char letter_of(const wire::FileChange& change) {
  if (change.before.kind == kNoFile) return 'A';
  return change.after.kind == kNoFile ? 'D' : 'M';
}

const char* name_of(wire::FileKind kind) {
  switch (kind) {
    case wire::FileKind::Regular:
      return "file";
    case wire::FileKind::Directory:
      return "directory";
    case wire::FileKind::Link:
      return "link";
    case wire::FileKind::Other:
      return "other";
  }
  return "nothing";
}

nlohmann::ordered_json side(const wire::FileInfo& info) {
  if (info.kind == kNoFile) return nullptr;
  nlohmann::ordered_json object{{"kind", name_of(info.kind)},
                                {"mode", fmt::format("{:04o}", info.mode)},
                                {"size", info.size}};
  if (info.kind == wire::FileKind::Link) object["target"] = info.target;
  return object;
}

nlohmann::ordered_json to_json(const wire::FileChange& change) {
  const char letter = letter_of(change);
  return {{"path", change.path},
          {"change", letter == 'A'   ? "added"
                     : letter == 'D' ? "removed"
                                     : "modified"},
          {"before", side(change.before)},
          {"after", side(change.after)}};
}

void print_changes(const std::vector<wire::FileChange>& changes) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const wire::FileChange& change : changes)
    list.push_back(to_json(change));
  print_json(nlohmann::ordered_json{{"changes", list}});
}

std::string shape_of(const wire::FileChange& change) {
  if (change.after.kind == wire::FileKind::Directory || change.before.kind == change.after.kind)
    return "";
  const bool is_new_kind = change.before.kind != kNoFile && change.after.kind != kNoFile;
  return is_new_kind ? fmt::format(" ({} became {})", name_of(change.before.kind),
                                   name_of(change.after.kind))
                     : "";
}

Result<> print_stat(wire::InitClient& client, const wire::FileChange& change) {
  const auto difference = difference_of(client, change, BinaryForm::Named);
  std::string what = "too large to compare";
  if (difference) {
    what = difference->is_binary
               ? fmt::format("binary, {} bytes", change.after.size)
               : fmt::format("+{} -{}", difference->lines_added, difference->lines_removed);
  }
  const bool is_directory =
      change.after.kind == wire::FileKind::Directory ||
      (change.after.kind == kNoFile && change.before.kind == wire::FileKind::Directory);
  print_out("{} {}{}{}\n", letter_of(change), change.path,
             is_directory ? "/" : "  " + what, shape_of(change));
  return {};
}

Result<> print_patch(wire::InitClient& client, const wire::FileChange& change, BinaryForm form) {
  const auto difference = TRY(difference_of(client, change, form));
  // For git every byte counts.
  if (form == BinaryForm::Literal) {
    print_bytes(difference.patch);
  } else {
    print_text(difference.patch);
  }
  const bool is_left_out =
      form == BinaryForm::Literal &&
      (change.after.kind == wire::FileKind::Other || change.before.kind == wire::FileKind::Other);
  if (is_left_out) print_error(fmt::format("not in the patch, no file: {}", change.path));
  return {};
}

Result<int> diff(Program& program, const DiffFlags& flags) {
  wire::InitClient client = TRY(program.runtime.connect(flags.id));
  const auto changes = TRY(select_changes(TRY(list_workspace_changes(client)), flags.paths));
  if (flags.is_json) {
    print_changes(changes);
    return 0;
  }
  for (const wire::FileChange& change : changes) {
    TRY(flags.is_stat ? print_stat(client, change)
                      : print_patch(client, change,
                                    flags.is_patch ? BinaryForm::Literal : BinaryForm::Named));
  }
  return 0;
}

}  // namespace

void add_diff(const CommandLine& app, Program& program) {
  const CommandLine command =
      app.add_command("diff", "Show what a sandbox changed in its workspace");
  auto flags = std::make_shared<DiffFlags>();
  command.add_option("ID", flags->id, "The sandbox").required();
  command.add_option("--path", flags->paths, "Only at or below this path; may be repeated");
  const CommandOption stat = command.add_flag("--stat", flags->is_stat, "One line for each file");
  const CommandOption json = command.add_flag("--json", flags->is_json, "One JSON object");
  command.add_flag("--patch", flags->is_patch, "For git apply, binary files included")
      .excludes(stat)
      .excludes(json);
  command.footer(kExamples);
  command.callback(
      [flags, &program] { program.chosen = [flags, &program] { return diff(program, *flags); }; });
}

}  // namespace nutshell::cli
