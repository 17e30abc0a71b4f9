#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "base/byte_size.h"
#include "cli/command.h"
#include "cli/print.h"
#include "cli/report.h"
#include "cli/status_text.h"
#include "core/json_form.h"

namespace nutshell::cli {
namespace {

struct ListFlags {
  std::vector<std::string> labels;
  bool is_json = false;
  bool is_quiet = false;
};

std::string join_labels(const SandboxSpec& spec) {
  std::string text;
  for (const auto& [name, value] : spec.labels)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  return text;
}

void print_table(const std::vector<SandboxStatus>& sandboxes) {
  print_out("{:<14} {:<8} {:<8} {:>6} {:>8} {:<44} {}\n", "ID", "BACKEND", "STATE", "AGE", "LEFT",
            "LIMITS", "LABELS");
  for (const SandboxStatus& status : sandboxes) {
    const auto seconds = [](std::chrono::milliseconds span) {
      return fmt::format("{}s", span.count() / 1000);
    };
    print_out("{:<14} {:<8} {:<8} {:>6} {:>8} {:<44} {}\n", status.id, status.spec.backend,
              status.state == SandboxState::Paused ? "paused" : "running", seconds(status.age),
              seconds(status.time_left), summary_of(status.spec), join_labels(status.spec));
  }
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
  command.add_flag("-q,--quiet", flags->is_quiet, "Print only ids");
  command.add_flag("--json", flags->is_json, "Print a JSON array");
  command.footer(
      "Examples:\n  nutshell list --label project=demo\n  nutshell destroy $(nutshell list -q)");
  command.callback(
      [flags, &program] { program.chosen = [flags, &program] { return list(program, *flags); }; });
}

}  // namespace nutshell::cli
