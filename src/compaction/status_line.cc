#include "compaction/status_line.h"

#include <fmt/format.h>

#include <chrono>

namespace nutshell::compaction {
namespace {

std::string duration_text(std::chrono::microseconds duration) {
  const double seconds = std::chrono::duration<double>(duration).count();
  if (seconds < 10) return fmt::format("{:.1f}s", seconds);
  return fmt::format("{:.0f}s", seconds);
}

std::string outcome_text(const ExecResult& ending) {
  switch (ending.outcome) {
    case Outcome::Exited:
      return fmt::format("exit {}", ending.exit_code);
    case Outcome::Signalled:
      return fmt::format("killed by signal {}", ending.signal);
    case Outcome::TimedOut:
      return "timed out, killed";
    case Outcome::OutOfMemory:
      return "out of memory, killed";
    case Outcome::OutputLimit:
      return "output limit reached, killed";
    case Outcome::Cancelled:
      return "cancelled, killed";
    case Outcome::Lost:
      return "lost: the sandbox ended, what it did is unknown";
  }
  return "ended in an unknown way";
}

}  // namespace

bool is_failing(const ExecResult& ending) {
  return ending.outcome != Outcome::Exited || ending.exit_code != 0;
}

std::string ending_text(const ExecResult& ending) {
  using std::chrono::milliseconds;
  auto text = outcome_text(ending);
  if (ending.duration >= milliseconds(100)) text += ", " + duration_text(ending.duration);
  if (!ending.detail.empty())
    text += " (" + ending.detail.substr(0, ending.detail.find('\n')) + ")";
  if (ending.stdout_truncated || ending.stderr_truncated) text += ", output was cut";
  return text;
}

std::string summary_text(const Facts& facts) {
  if (facts.totals.empty()) return "";  // the caller knows which command it ran
  std::string text = facts.tool;
  const char* separator = text.empty() ? "" : ": ";
  for (const Total& total : facts.totals) {
    text += fmt::format("{}{} {}", separator, total.count, total.word);
    separator = ", ";
  }
  return text;
}

std::string status_line(const Captured& captured, std::string_view summary) {
  std::string line = ending_text(captured.ending);
  if (!summary.empty()) line += fmt::format(". {}", summary);
  if (!captured.recall_id.empty()) line += fmt::format(". recall {}", captured.recall_id);
  return line;
}

std::string recall_call(const std::string& recall_id, std::size_t offset) {
  if (recall_id.empty()) return "run it again with raw output";
  if (offset == 0) return fmt::format("recall {}", recall_id);
  return fmt::format("recall {} offset={}", recall_id, offset);
}

}  // namespace nutshell::compaction
