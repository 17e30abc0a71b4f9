#include "compaction/parsers/gtest_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "compaction/parsers/diagnostic_scan.h"
#include "compaction/status_line.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

constexpr std::size_t kMarkWidth = 12;  // of "[ RUN      ]"

// "Math.Wrong, where GetParam() = 1 (0 ms)" without its time.
std::string_view without_time(std::string_view text) {
  const auto time = text.rfind(" (");
  return time != std::string_view::npos && text.ends_with(" ms)") ? text.substr(0, time) : text;
}

bool is_failure_place(std::string_view line) {
  return line.ends_with(": Failure") || line.ends_with(": error: Failure") ||
         contains(line, "): error: ");
}

}  // namespace

bool is_gtest_line(std::string_view line) {
  constexpr std::array<std::string_view, 8> kMarks = {
      "[==========]", "[----------]", "[ RUN      ]", "[       OK ]",
      "[  FAILED  ]", "[  PASSED  ]", "[  SKIPPED ]", "[ DISABLED ]"};
  return line.starts_with('[') &&
         std::ranges::find(kMarks, line.substr(0, kMarkWidth)) != kMarks.end();
}

void GtestReport::begin(std::string_view name) {
  running_ = name;
  printed_.clear();
}

// "a_test.cc:3: Failure" gives the place of the first; further ones stay among the lines.
void GtestReport::describe(Failure& failure) {
  for (auto& line : condensed(printed_, ledger_)) {
    const auto located = is_failure_place(line) ? split_location(line) : std::nullopt;
    if (located && failure.where.file.empty())
      failure.where = located->where;
    else
      failure.detail.push_back(std::move(line));
  }
}

void GtestReport::end_failed(std::string_view text) {
  text = without_time(text);
  const auto parameter = text.find(", where ");
  auto failure = make_failure(text.substr(0, parameter));
  if (parameter != std::string_view::npos) failure.detail.emplace_back(text.substr(parameter + 2));
  describe(failure);
  known_.insert(failure.name);
  ledger_.add(std::move(failure));
  running_.clear();
  printed_.clear();
}

// The names are known, unless the part above was cut off.
void GtestReport::take_list(std::string_view text) {
  const auto name = text.substr(0, text.find(", where "));
  if (known_.emplace(name).second) ledger_.add(make_failure(name));
  ledger_.omit_line("summary lines", text);
}

void GtestReport::take_bracket(std::string_view mark, std::string_view text) {
  if (mark == "[ RUN      ]") {
    begin(text);
    ledger_.omit("progress lines");
  } else if (mark == "[  FAILED  ]" && text.ends_with("listed below:")) {
    is_list_ = true;
    ledger_.account(text);
    const auto count = take_number(text).value_or(0);
    ledger_.add_total("failed", count);
    ledger_.expect_failures(count);
  } else if (mark == "[  FAILED  ]") {
    if (is_list_)
      take_list(text);
    else
      end_failed(text);
  } else if (mark == "[  PASSED  ]") {
    ledger_.add_total("passed", take_number(text).value_or(0));
  } else if (mark == "[  SKIPPED ]" && is_digit(text.empty() ? ' ' : text.front())) {
    ledger_.add_total("skipped", take_number(text).value_or(0));
  } else if (mark == "[==========]") {
    is_list_ = false;
    ledger_.omit("progress lines");
  } else {
    const bool is_pass = mark == "[       OK ]";
    ledger_.omit(is_pass ? "passing tests" : "progress lines");
    for (const auto line : printed_)
      ledger_.set_aside_as(mark == "[  SKIPPED ]" ? "skipped tests" : "output of passing tests",
                           fmt::format("{}: {}", running_, trim(line)));
    running_.clear();
    printed_.clear();
  }
}

bool GtestReport::take(std::string_view line) {
  if (is_gtest_line(line)) {
    ledger_.recognise();
    take_bracket(line.substr(0, kMarkWidth), trim(line.substr(kMarkWidth)));
    return true;
  }
  const auto text = trim(line);
  if (text.starts_with("YOU HAVE ")) {
    auto rest = text.substr(9);
    ledger_.add_total("disabled", take_number(rest).value_or(0));
    return true;
  }
  const bool is_sum = text.ends_with(" FAILED TEST") || text.ends_with(" FAILED TESTS") ||
                      text.starts_with("Running main() from ");
  if (is_sum) {
    ledger_.omit_line("summary lines", text);
    return true;
  }
  if (is_list_ || (running_.empty() && !is_failure_place(line) && printed_.empty())) return false;
  if (!text.empty()) printed_.push_back(line);
  return true;
}

void GtestReport::finish(const ExecResult& ending) {
  if (!running_.empty() && is_failing(ending)) {
    auto failure = make_failure(running_, "NO RESULT");
    describe(failure);
    ledger_.add(std::move(failure));
  } else {
    for (const auto line : printed_)
      ledger_.set_aside(line);
  }
  running_.clear();
  printed_.clear();
  // A brief report lists the failures and leaves their number out.
  const auto& facts = ledger_.facts();
  const bool has_sum =
      std::ranges::any_of(facts.totals, [](const Total& total) { return total.word == "failed"; });
  if (!has_sum && !facts.failures.empty()) ledger_.add_total("failed", facts.failures.size());
}

}  // namespace nutshell::compaction
