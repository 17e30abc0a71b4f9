// The report of a GoogleTest program, alone or inside another runner's output.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "compaction/parsers/ledger.h"

namespace nutshell::compaction {

bool is_gtest_line(std::string_view line);  // "[ RUN      ] Math.Adds" and its like

// Reads lines one after the other; failures and totals go to the ledger.
class GtestReport {
 public:
  explicit GtestReport(Ledger& ledger) : ledger_(ledger) {}

  // Returns whether the line is the report's or was printed by a test.
  bool take(std::string_view line);
  // Called after the last line: adds a test that began and never ended.
  void finish(const ExecResult& ending);

 private:
  void begin(std::string_view name);
  void end_failed(std::string_view text);
  void take_list(std::string_view text);
  void take_bracket(std::string_view mark, std::string_view text);
  void describe(Failure& failure);

  Ledger& ledger_;
  std::string running_;                    // between "[ RUN" and its end
  std::vector<std::string_view> printed_;  // since the last test began or ended
  std::unordered_set<std::string> known_;  // names of failures
  bool is_list_ = false;                   // the list of failed tests at the end
};

}  // namespace nutshell::compaction
