#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/print.h"
#include "cli/report.h"
#include "compaction/gain_log.h"

namespace nutshell::cli {
namespace {

using compaction::GainLog;
using compaction::GainReport;
using compaction::GainSum;

nlohmann::ordered_json to_json(const GainSum& sum) {
  nlohmann::ordered_json object;
  if (!sum.name.empty()) object["name"] = sum.name;
  object["calls"] = sum.calls;
  object["raw_tokens"] = sum.raw_tokens;
  object["tokens"] = sum.tokens;
  object["saved_percent"] = sum.saved();
  return object;
}

nlohmann::ordered_json to_json(const std::vector<GainSum>& sums) {
  nlohmann::ordered_json array = nlohmann::ordered_json::array();
  for (const GainSum& sum : sums)
    array.push_back(to_json(sum));
  return array;
}

void print_row(const std::string& name, const GainSum& sum) {
  print_out("{:<32.32} {:>7} {:>12} {:>12} {:>6.1f}%\n", name, sum.calls, sum.raw_tokens,
            sum.tokens, sum.saved());
}

void print_table(const std::string& title, const std::vector<GainSum>& sums) {
  print_out("{:<32} {:>7} {:>12} {:>12} {:>7}\n", title, "CALLS", "RAW TOKENS", "SHOWN", "SAVED");
  for (const GainSum& sum : sums)
    print_row(sum.name, sum);
}

Result<int> gain(const bool& is_json) {
  const GainLog log(TRY(GainLog::default_path()));
  const GainReport report = TRY(log.read());
  if (is_json) {
    print_json(nlohmann::ordered_json{{"all", to_json(report.all)},
                                      {"known", to_json(report.known)},
                                      {"unknown", to_json(report.unknown)},
                                      {"commands", to_json(report.commands)},
                                      {"sessions", to_json(report.sessions)}});
    return 0;
  }
  if (report.all.calls == 0) {
    print_out("no output was compacted yet\n");
    return 0;
  }
  print_table("COMMAND", report.commands);
  print_out("\n");
  print_table("SESSION", report.sessions);
  print_out("\n");
  print_row("known families", report.known);
  print_row("other commands", report.unknown);
  print_row("all", report.all);
  return 0;
}

}  // namespace

void add_gain(const CommandLine& app, Program& program) {
  const CommandLine command = app.add_command("gain", "Show how many tokens compaction saved");
  auto is_json = std::make_shared<bool>(false);
  command.add_flag("--json", *is_json, "Print a JSON object");
  command.footer(
      "Tokens are estimated for the tokenizer o200k; the total is within 5 % of it. A command is "
      "of a "
      "known family if a typed parser or your own renderer read its output at least once.");
  command.callback([is_json, &program] { program.chosen = [is_json] { return gain(*is_json); }; });
}

}  // namespace nutshell::cli
