#include "cli/held_report.h"

#include <fmt/format.h>

#include "base/safe_text.h"
#include "cli/report.h"
#include "runtime/workspace_changes.h"

namespace nutshell::cli {
namespace {

std::string line_of(const HeldSummary& summary, std::string_view how) {
  const std::string more =
      summary.below == 0 ? "" : fmt::format(" and {} more below it", summary.below);
  return fmt::format("\n  {}{}: {}{}", terminal_line(summary.path), more,
                     sentence_of(*summary.verdict), how);
}

}  // namespace

std::string describe_held(const std::vector<JudgedChange>& held, TakenBy taken_by) {
  std::string git;
  std::string trusted;
  for (const HeldSummary& summary : summarise(held)) {
    const TrustVerdict& verdict = *summary.verdict;
    if (verdict.trust == HostTrust::GitRuns) {
      git += line_of(summary, "");
    } else {
      trusted += line_of(summary, taken_by == TakenBy::Path
                                      ? fmt::format(" (--path '{}')", terminal_line(verdict.root))
                                      : "");
    }
  }
  std::string text;
  if (!git.empty()) {
    text +=
        fmt::format("held back, because git could run something; --unsafe-git takes it:{}", git);
  }
  if (!trusted.empty()) {
    text += fmt::format("{}held back, because a tool here would run or trust it; {}:{}",
                        text.empty() ? "" : "\n",
                        taken_by == TakenBy::Path ? "name it with --path to take it"
                                                  : "copy it by its own name to take it",
                        trusted);
  }
  return text;
}

void report_held(const std::vector<JudgedChange>& held, TakenBy taken_by) {
  if (!held.empty()) print_error(describe_held(held, taken_by));
}

char letter_of(const wire::FileChange& change) {
  switch (kind_of(change)) {
    case wire::ChangeKind::Added:
      return 'A';
    case wire::ChangeKind::Modified:
      return 'M';
    case wire::ChangeKind::Removed:
      return 'D';
  }
  return 'M';
}

std::string executable_mark(const wire::FileChange& change) {
  if (!is_newly_executable(change)) return "";
  return change.before.kind == kNoFile ? " (new executable)" : " (became executable)";
}

}  // namespace nutshell::cli
