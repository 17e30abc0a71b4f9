#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "backends/saving.h"
#include "cli/command.h"
#include "cli/print.h"
#include "cli/report.h"
#include "cli/sandbox_choice.h"
#include "core/workspace_volume.h"
#include "runtime/apply_record.h"

namespace nutshell::cli {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::ordered_json;

// Saving takes milliseconds, unless much was changed. What takes longer goes on by itself.
constexpr auto kReportTime = 2s;
constexpr auto kDiscardTime = 60s;

struct DestroyFlags {
  std::vector<std::string> ids;
  bool is_discarding = false;
  bool is_json = false;
};

bool has_changes_to_save(const Program& program, const SandboxStatus& status) {
  return has_saved_place(program) && !status.spec.workspace.empty() &&
         !is_volume(status.spec.workspace);
}

void report_saved(const saved::SavedWorkspace& saved) {
  const std::string& id = saved.sandbox.id;
  if (saved.state == saved::State::Saved) {
    print_error(
        fmt::format("the changes to {0} files are saved: 'nutshell diff {1}', 'apply {1}' "
                    "and 'create --from {1}' go on working ('destroy --discard' saves "
                    "nothing)",
                    saved.summary.changes, id));
  } else if (saved.state != saved::State::Saving) {
    print_error(fmt::format("the changes of {} could not be saved: {}", id, saved.why));
  }
}

// Returns what is said of the sandbox in JSON.
Result<Json> destroy(Program& program, const std::string& given, const DestroyFlags& flags) {
  const std::string id = TRY(chosen_sandbox(program, given));
  // A backend that does not answer can still note that the sandbox is to be removed.
  const auto found = program.runtime.find(id);
  const bool saves = found && has_changes_to_save(program, *found);
  const std::string whole_id = found ? found->id : id;
  const bool is_saved_at_end = saves && saves_changes_at_end(found->spec.backend);
  if (saves && !is_saved_at_end && !flags.is_discarding) {
    const auto saved = save_changes(program.runtime, whole_id);
    if (!saved) {
      print_error(
          fmt::format("the changes of {} could not be saved: {}", whole_id, saved.error().message));
    }
  }
  TRY(program.runtime.destroy(whole_id));
  Json object{{"id", whole_id}, {"saved_changes", 0}};
  if (!saves) return object;
  const auto place = TRY(saved::SavedWorkspaces::open());
  if (flags.is_discarding) {
    TRY(place.remove(whole_id, Deadline::in(kDiscardTime)));
    TRY(ApplyRecord(whole_id).remove());
    return object;
  }
  const auto saved = place.await(whole_id, Deadline::in(kReportTime));
  if (!saved) {  // there was no change
    TRY(ApplyRecord(whole_id).remove());
    return object;
  }
  object["saved_changes"] = saved->summary.changes;
  if (!flags.is_json) report_saved(*saved);
  return object;
}

Result<int> destroy_all(Program& program, const DestroyFlags& flags) {
  Json destroyed = Json::array();
  Json failed = Json::array();
  for (const std::string& id : flags.ids) {
    auto done = destroy(program, id, flags);
    if (done) {
      destroyed.push_back(std::move(*done));
      continue;
    }
    failed.push_back({{"id", id}, {"error", done.error().message}});
    if (!flags.is_json) print_error(done.error().message);  // the others are still destroyed
  }
  if (flags.is_json) print_json(Json{{"destroyed", destroyed}, {"failed", failed}});
  return failed.empty() ? 0 : kOurError;
}

}  // namespace

void add_destroy(const CommandLine& app, Program& program) {
  const CommandLine command =
      app.add_command("destroy", "End sandboxes and all their processes").alias("rm");
  auto flags = std::make_shared<DestroyFlags>();
  command.add_option("ID", flags->ids, "The sandboxes").required();
  command.add_flag("--discard", flags->is_discarding, "Save no changes of their workspaces");
  command.add_flag("--json", flags->is_json, "Print a JSON object");
  command.footer(
      "Examples:\n  nutshell destroy n3f9c0a1b2c3d\n  nutshell destroy $(nutshell list -q)\n\n"
      "The changes in a sandbox's workspace are saved, and 'nutshell list --ended' shows them.");
  command.callback([flags, &program] {
    program.chosen = [flags, &program] { return destroy_all(program, *flags); };
  });
}

}  // namespace nutshell::cli
