#include "cli/sandbox_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "backends/registry.h"
#include "cli/report.h"
#include "core/sandbox_id.h"
#include "runtime/workspace_changes.h"

namespace nutshell::cli {
namespace {

namespace fs = std::filesystem;
using saved::SavedWorkspace;

// Whether it is an id, or the beginning of one, of a backend that there is.
bool may_be_id(const std::string& text) {
  const auto& backends = backend_registry();
  return is_sandbox_id_beginning(text) &&
         std::any_of(backends.begin(), backends.end(),
                     [&text](const auto& entry) { return entry.id_letter == text.front(); });
}

std::string name_of(const SandboxSpec& spec) {
  const auto found = spec.labels.find(kNameLabel);
  return found == spec.labels.end() ? std::string() : found->second;
}

// How many directories of the path the workspace has, if it holds `here`; 0 if it does not.
std::size_t closeness(const SandboxSpec& spec, const std::string& here) {
  if (spec.workspace.empty()) return 0;
  const bool holds = spec.workspace == "/" || is_at_or_below(here, spec.workspace);
  return holds ? spec.workspace.size() : 0;
}

// Finds the sandboxes with the innermost workspace that holds this directory.
template <typename Item, typename SpecOf>
std::vector<const Item*> innermost(const std::vector<Item>& all, SpecOf spec_of) {
  std::error_code error;
  const std::string here = fs::current_path(error).native();
  std::vector<const Item*> best;
  std::size_t most = 1;
  for (const Item& item : all) {
    const std::size_t close = error ? 0 : closeness(spec_of(item), here);
    if (close > most) best.clear();
    most = std::max(most, close);
    if (close > 0 && close == most) best.push_back(&item);
  }
  return best;
}

Failure several(const std::string& ids, std::string_view kind) {
  return failure(ErrorCode::InvalidArgument,
                 fmt::format("this directory has several {}: name one of {}", kind, ids));
}

Result<std::string> saved_of_here(const Program& program) {
  std::vector<SavedWorkspace> all;
  if (has_saved_place(program)) {
    if (const auto place = saved::SavedWorkspaces::open()) all = place->list().value_or(all);
  }
  std::erase_if(all, [](const auto& one) {
    return one.state != saved::State::Saved && one.state != saved::State::Saving;
  });
  const auto found = innermost(all, [](const auto& one) { return one.sandbox.spec; });
  if (found.size() == 1) return found.front()->sandbox.id;
  if (found.empty()) {
    return failure(ErrorCode::NotFound,
                   "no sandbox has this directory as its workspace: give an ID ('nutshell list' "
                   "shows them), or make one with 'nutshell create --workspace .'");
  }
  std::string ids;
  const auto now = std::chrono::system_clock::now();
  for (const SavedWorkspace* one : found) {
    ids += fmt::format(
        "\n  {}, ended {} ago", one->sandbox.id,
        human_time(std::chrono::duration_cast<std::chrono::milliseconds>(now - one->ended)));
  }
  return several(ids, "sandboxes that have ended");
}

Result<std::string> sandbox_of_here(Program& program) {
  const auto listing = TRY(program.runtime.list_reachable());
  const auto found = innermost(listing.sandboxes, [](const auto& one) { return one.spec; });
  if (found.size() == 1) return found.front()->id;
  if (found.empty()) return saved_of_here(program);
  std::string ids;
  for (const SandboxStatus* one : found)
    ids += (ids.empty() ? "" : ", ") + one->id;
  return several(ids, "sandboxes");
}

Result<std::string> sandbox_named(Program& program, const std::string& name) {
  const auto listing = TRY(program.runtime.list_reachable({{kNameLabel, name}}));
  if (listing.sandboxes.size() == 1) return listing.sandboxes.front().id;
  if (has_saved_place(program)) {
    const auto place = TRY(saved::SavedWorkspaces::open());
    for (const SavedWorkspace& one : TRY(place.list()))  // the newest first
      if (name_of(one.sandbox.spec) == name) return one.sandbox.id;
  }
  return failure(ErrorCode::InvalidArgument,
                 fmt::format("'{}' is neither the id nor the name of a sandbox: 'nutshell list' "
                             "shows them",
                             name));
}

void announce(const SavedWorkspace& saved) {
  const auto ago = std::chrono::system_clock::now() - saved.ended;
  print_error(fmt::format(
      "sandbox {} ended {} ago ({}): these are its saved changes", saved.sandbox.id,
      human_time(std::chrono::duration_cast<std::chrono::milliseconds>(ago)), saved.summary.why));
}

}  // namespace

std::string human_time(std::chrono::milliseconds time) {
  const auto seconds = std::max<std::int64_t>(0, time.count() / 1000);
  const auto minutes = seconds / 60;
  const auto hours = minutes / 60;
  if (seconds < 120) return fmt::format("{} s", seconds);
  if (minutes < 120) return fmt::format("{} min", minutes);
  if (hours < 48) return fmt::format("{} h", hours);
  return fmt::format("{} days", hours / 24);
}

bool has_saved_place(const Program& program) {
  const auto& daemon = program.runtime.context().daemon;
  return !daemon || daemon->shares_directory;
}

Result<> check_new_name(Program& program, const std::string& name) {
  const bool is_plain = !name.empty() && name.size() <= 63 &&
                        name.find_first_not_of(
                            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                            "0123456789._-") == std::string::npos;
  if (!is_plain || name.front() == '-' || may_be_id(name)) {
    return failure(
        ErrorCode::InvalidArgument,
        fmt::format("--name: '{}' must be letters, digits, '.', '_' and '-', at most 63, "
                    "and must not look like the id of a sandbox",
                    name));
  }
  const auto listing = TRY(program.runtime.list_reachable({{kNameLabel, name}}));
  if (listing.sandboxes.empty()) return {};
  return failure(ErrorCode::AlreadyExists, fmt::format("--name: sandbox {} has the name '{}'",
                                                       listing.sandboxes.front().id, name));
}

Result<std::string> chosen_sandbox(Program& program, const std::string& given) {
  if (given.empty()) return sandbox_of_here(program);
  if (may_be_id(given)) return given;
  return sandbox_named(program, given);
}

Result<int> with_sandbox(Program& program, const std::string& given, const SavedStep& step) {
  const std::string id = TRY(chosen_sandbox(program, given));
  auto living = program.runtime.whole_id(id);
  if (living) {
    auto done = step(program.runtime, *living);
    // NotFound may also be about a file of a sandbox that lives.
    if (done || done.error().code != ErrorCode::NotFound) return done;
    auto client = program.runtime.connect(*living);
    if (client || client.error().code != ErrorCode::NotFound) return done;
    living = Failure(std::move(client).error());
  }
  if (living.error().code != ErrorCode::NotFound || !has_saved_place(program))
    return Failure(std::move(living).error());
  const auto place = TRY(saved::SavedWorkspaces::open());
  if (!place.find(id)) return Failure(std::move(living).error());
  const SavedWorkspace saved = TRY(find_saved(id));
  announce(saved);
  return with_saved(program.runtime.context(), saved, step);
}

}  // namespace nutshell::cli
