// The failures of a pytest run, which tells of each of them up to three times: as progress, as a
// report with a traceback, and in the summary, the only place where its whole name stands.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compaction/parsers/ledger.h"

namespace nutshell::compaction {

class PytestFailures {
 public:
  explicit PytestFailures(Ledger& ledger) : ledger_(ledger) {}

  void note_progress(std::string_view line);
  // `heading`: "TestK.test_par[2]", "ERROR at setup of test_x", "ERROR collecting sub/test_x.py"
  void add_report(std::string_view heading, Lines lines);
  // A report of one line, with the lines of its error above it if the version prints them.
  void add_line_report(const Location& where, std::string_view message, Lines error);
  // `text`: "test_a.py::TestK::test_par[2] - assert 2 == 1"
  void add_summary(std::string_view word, std::string_view text);
  // Joins what belongs together and hands it to the ledger.
  void settle();

 private:
  struct Report {
    Failure failure;
    std::string id;  // as a report's heading writes it: "TestK.test_par[2]"
    bool is_named = false;
    bool is_line = false;  // has no heading, only a place and a message
  };

  Report* report_of(std::string_view id, std::string_view word);
  Report* line_report_of(std::string_view message);
  void add(Report report);

  Ledger& ledger_;
  std::vector<Report> reports_;
  std::vector<Failure> progress_;  // with -v: named where they fail
  // Indexes of reports without a name, by word and heading; two files may have tests of one name.
  std::unordered_map<std::string, std::deque<std::size_t>> unnamed_;
  std::deque<std::size_t> unnamed_lines_;
};

}  // namespace nutshell::compaction
