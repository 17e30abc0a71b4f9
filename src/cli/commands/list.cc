#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/byte_size.h"
#include "cli/command.h"
#include "cli/print.h"
#include "cli/report.h"
#include "cli/sandbox_choice.h"
#include "cli/status_text.h"
#include "core/json_form.h"

namespace nutshell::cli {
namespace {

struct ListFlags {
  std::vector<std::string> labels;
  bool is_json = false;
  bool is_quiet = false;
  bool is_ended = false;
};

std::string join_labels(const SandboxSpec& spec) {
  std::string text;
  for (const auto& [name, value] : spec.labels) {
    if (name == kNameLabel || name.starts_with("nutshell.")) continue;
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  }
  return text;
}

std::string name_of(const SandboxSpec& spec) {
  const auto name = spec.labels.find(kNameLabel);
  return name == spec.labels.end() ? "-" : name->second;
}

std::string project_of(const SandboxSpec& spec) {
  return spec.workspace.empty() ? "-" : spec.workspace;
}

void print_table(const std::vector<SandboxStatus>& sandboxes) {
  std::size_t project = 7;
  for (const SandboxStatus& status : sandboxes)
    project = std::max(project, project_of(status.spec).size());
  print_out("{:<14} {:<12} {:<8} {:<8} {:>7} {:>7} {:<{}} {:<44} {}\n", "ID", "NAME", "BACKEND",
            "STATE", "AGE", "LEFT", "PROJECT", project, "LIMITS", "LABELS");
  for (const SandboxStatus& status : sandboxes) {
    print_out("{:<14} {:<12} {:<8} {:<8} {:>7} {:>7} {:<{}} {:<44} {}\n", status.id,
              name_of(status.spec), status.spec.backend,
              status.state == SandboxState::Paused ? "paused" : "running", human_time(status.age),
              human_time(status.time_left), project_of(status.spec), project,
              summary_of(status.spec), join_labels(status.spec));
  }
}

std::string_view word_of(saved::State state) {
  switch (state) {
    case saved::State::Saving:
      return "saving";
    case saved::State::Saved:
      return "saved";
    case saved::State::Failed:
      return "failed";
    case saved::State::Lost:
      break;
  }
  return "lost";
}

// Those that have ended, and whose changes were saved or lost.
Result<std::vector<saved::SavedWorkspace>> ended_sandboxes(
    Program& program, const std::map<std::string, std::string>& labels) {
  if (!has_saved_place(program)) {
    return failure(ErrorCode::Unsupported,
                   "the daemon keeps what ended sandboxes saved on its own machine or for another "
                   "user: ask there");
  }
  const auto place = TRY(saved::SavedWorkspaces::open());
  auto all = TRY(place.list());
  const Runtime::Listing living = TRY(program.runtime.list_reachable());
  std::erase_if(all, [&](const saved::SavedWorkspace& one) {
    const auto& own = one.sandbox.spec.labels;
    const bool is_wanted = std::all_of(labels.begin(), labels.end(), [&own](const auto& label) {
      const auto found = own.find(label.first);
      return found != own.end() && found->second == label.second;
    });
    const bool lives =
        std::any_of(living.sandboxes.begin(), living.sandboxes.end(),
                    [&one](const SandboxStatus& status) { return status.id == one.sandbox.id; });
    return !is_wanted || lives;
  });
  return all;
}

Result<int> list_ended(Program& program, const std::map<std::string, std::string>& labels,
                       const ListFlags& flags) {
  const auto all = TRY(ended_sandboxes(program, labels));
  const auto bounds = TRY(saved::Bounds::from_environment());
  const auto now = std::chrono::system_clock::now();
  nlohmann::ordered_json array = nlohmann::ordered_json::array();
  if (!flags.is_json && !flags.is_quiet) {
    print_out("{:<14} {:<12} {:<7} {:>7} {:>7} {:>10} {:>7}  {}\n", "ID", "NAME", "STATE", "ENDED",
              "CHANGES", "SIZE", "EXPIRES", "PROJECT, WHY");
  }
  for (const saved::SavedWorkspace& one : all) {
    const auto ago = std::chrono::duration_cast<std::chrono::milliseconds>(now - one.ended);
    const auto left =
        std::chrono::hours(24 * static_cast<std::int64_t>(bounds.days)) - (now - one.ended);
    const auto left_ms = std::chrono::duration_cast<std::chrono::milliseconds>(left);
    const std::string why = one.state == saved::State::Saved ? one.summary.why : one.why;
    if (flags.is_json) {
      array.push_back({{"id", one.sandbox.id},
                       {"state", word_of(one.state)},
                       {"workspace", one.sandbox.spec.workspace},
                       {"labels", one.sandbox.spec.labels},
                       {"ended_ms_ago", ago.count()},
                       {"expires_ms", std::max<std::int64_t>(0, left_ms.count())},
                       {"changes", one.summary.changes},
                       {"bytes", one.bytes},
                       {"why", why}});
    } else if (flags.is_quiet) {
      print_out("{}\n", one.sandbox.id);
    } else {
      print_out("{:<14} {:<12} {:<7} {:>7} {:>7} {:>10} {:>7}  {}: {}\n", one.sandbox.id,
                name_of(one.sandbox.spec), word_of(one.state), human_time(ago), one.summary.changes,
                format_byte_size(one.bytes), human_time(left_ms), project_of(one.sandbox.spec),
                why);
    }
  }
  if (flags.is_json) print_json(array);
  return 0;
}

Result<int> list(Program& program, const ListFlags& flags) {
  std::map<std::string, std::string> labels;
  for (const std::string& word : flags.labels) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) {
      return failure(ErrorCode::InvalidArgument,
                     fmt::format("--label: '{}' is not NAME=VALUE", word));
    }
    labels[word.substr(0, equals)] = word.substr(equals + 1);
  }
  if (flags.is_ended) return list_ended(program, labels, flags);
  const Runtime::Listing listing = TRY(program.runtime.list_reachable(labels));
  warn_of_unanswered(listing);
  const auto& sandboxes = listing.sandboxes;
  if (flags.is_json) {
    nlohmann::ordered_json array = nlohmann::ordered_json::array();
    for (const SandboxStatus& status : sandboxes)
      array.push_back(to_json(status));
    print_json(array);
  } else if (flags.is_quiet) {
    for (const SandboxStatus& status : sandboxes)
      print_out("{}\n", status.id);
  } else {
    print_table(sandboxes);
  }
  return 0;
}

}  // namespace

void add_list(const CommandLine& app, Program& program) {
  const CommandLine command = app.add_command("list", "List the sandboxes").alias("ls").alias("ps");
  auto flags = std::make_shared<ListFlags>();
  command.add_option("--label", flags->labels, "Only those with NAME=VALUE; may be repeated");
  command.add_flag("--ended", flags->is_ended,
                   "Those that have ended, whose changes in the workspace are saved");
  command.add_flag("-q,--quiet", flags->is_quiet, "Print only ids");
  command.add_flag("--json", flags->is_json, "Print a JSON array");
  command.footer(
      "Examples:\n  nutshell list --label project=demo\n  nutshell list --ended\n  nutshell "
      "destroy $(nutshell list -q)");
  command.callback(
      [flags, &program] { program.chosen = [flags, &program] { return list(program, *flags); }; });
}

}  // namespace nutshell::cli
