#include "compaction/parsers/node_test_parser.h"

#include <array>
#include <string>
#include <unordered_map>
#include <vector>

#include "compaction/parsers/diagnostic_scan.h"
#include "compaction/parsers/js_reports.h"
#include "compaction/parsers/ledger.h"
#include "compaction/parsers/stack_frames.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

// "ℹ fail 5" and "# fail 5": the sums at the end.
std::optional<Total> sum_of(std::string_view line) {
  if (!take_prefix(line, "ℹ ") && !take_prefix(line, "# ")) return std::nullopt;
  constexpr std::array<std::string_view, 7> kWords = {"tests",     "suites",  "pass", "fail",
                                                      "cancelled", "skipped", "todo"};
  const auto word = take_word(line);
  const auto count = take_number(line);
  if (!count || !line.empty()) return std::nullopt;
  for (const auto known : kWords) {
    if (word == known) return Total{std::string(word), *count};
  }
  return std::nullopt;
}

bool is_node_test_line(std::string_view line) {
  const auto sum = sum_of(line);
  return (sum && sum->word == "fail") || line == "✖ failing tests:" ||
         line.starts_with("# Subtest: ");
}

bool recognises_node_test(const ParserInput& input) {
  return input.command.starts_with({"node", "--test"}) || has_line(input.lines, is_node_test_line);
}

bool is_tap_line(std::string_view text) {
  return text.starts_with("ok ") || text.starts_with("not ok ") || text.starts_with("# ");
}

class NodeTestScan {
 public:
  explicit NodeTestScan(const ParserInput& input) : input_(input), cursor_(input.lines) {}
  std::optional<Facts> parse();

 private:
  bool take_sum();
  bool take_suite();
  bool take_tap();
  bool take_yaml(Failure& failure, std::size_t indent);
  void take_field(std::string_view text, Failure& failure);
  bool take_spec();
  Lines take_deeper(std::size_t indent);
  std::string path_of(std::size_t level, std::string_view name);
  void describe(std::string_view name, std::string_view path, Lines body);

  const ParserInput& input_;
  LineCursor cursor_;
  Ledger ledger_;
  std::vector<std::string> parents_;                      // of the line that is being read
  std::unordered_map<std::string, std::size_t> by_name_;  // failures of the tree, by last name
  Location place_;        // "test at a.test.js:3:1", above a failure of the list
  bool is_list_ = false;  // the failures once more, with their places
};

bool NodeTestScan::take_sum() {
  const auto line = cursor_.line();
  const auto sum = sum_of(line);
  const bool is_time = line.ends_with(" start of coverage report") ||
                       line.ends_with(" end of coverage report") ||
                       line.starts_with("ℹ duration_ms") || line.starts_with("# duration_ms") ||
                       line.starts_with("TAP version ");
  if (!sum && !is_time) return false;
  const bool is_shown = sum && (sum->count > 0 || sum->word == "fail" || sum->word == "pass");
  if (is_shown) ledger_.add_total(sum->word, sum->count);
  if (sum && sum->word == "fail") ledger_.expect_failures(sum->count);
  cursor_.advance();
  return true;
}

std::string NodeTestScan::path_of(std::size_t level, std::string_view name) {
  std::string path;
  constexpr std::size_t kLongestPart = 300;  // a parent's name is repeated for every child
  for (std::size_t at = 0; at < level && at < parents_.size(); ++at)
    path.append(parents_[at], 0, kLongestPart).append(" > ");
  return path.append(name);
}

// "▶ suite" and "    # Subtest: inner bad": what follows deeper is part of it.
bool NodeTestScan::take_suite() {
  constexpr std::size_t kDeepest = 64;
  auto text = trim_left(cursor_.line());
  const bool is_tap = text.starts_with("# Subtest: ");
  if (!take_prefix(text, "▶ ") && !take_prefix(text, "# Subtest: ")) return false;
  const auto level = std::min(kDeepest, indent_of(cursor_.line()) / (is_tap ? 4 : 2));
  parents_.resize(level);
  const auto time = text.rfind(" (");
  parents_.emplace_back(is_tap || time == std::string_view::npos || !text.ends_with("ms)")
                            ? text
                            : text.substr(0, time));
  ledger_.omit("progress lines");
  cursor_.advance();
  return true;
}

void NodeTestScan::take_field(std::string_view text, Failure& failure) {
  const auto key = take_until(text, ":");
  if (!key) return;
  auto value = trim(text);
  if (value.size() > 1 && value.front() == '\'' && value.back() == '\'')
    value = value.substr(1, value.size() - 2);
  if (*key == "location" && failure.where.file.empty()) {
    if (const auto located = split_location(value)) failure.where = located->where;
  } else if ((*key == "expected" || *key == "actual") && !value.empty()) {
    failure.detail.push_back(std::string(*key) + ": " + std::string(value));
  } else if (*key == "error" && !value.starts_with('|')) {
    failure.detail.emplace_back(value);
  } else {
    ledger_.omit_line("fields", text);
  }
}

// "  ---", fields, some of them with deeper lines below, "  ..."
bool NodeTestScan::take_yaml(Failure& failure, std::size_t indent) {
  if (trim(cursor_.line()) != "---") return false;
  cursor_.advance();
  bool is_stack = false;
  bool is_foreign = false;  // another program's words stand in the block, up to the next field
  Location user_place;
  for (; !cursor_.done() && trim(cursor_.line()) != "..."; cursor_.advance()) {
    const auto line = cursor_.line();
    const bool is_field = indent_of(line) == indent + 2;
    const auto text = trim(line);
    if (text.empty()) continue;
    if (indent_of(line) <= indent && is_tap_line(text)) return true;  // the block was cut off
    if (is_field) is_stack = text.starts_with("stack:");
    is_foreign = !is_field && (is_foreign || indent_of(line) < indent + 2);
    if (is_foreign) {
      ledger_.set_aside(line);
    } else if (is_field) {
      take_field(text, failure);
    } else if (!is_stack) {
      failure.detail.emplace_back(text);
    } else {
      const auto frame = node_frame("at " + std::string(text));
      const bool is_place = frame && frame->is_users && user_place.file.empty();
      if (is_place)
        user_place = frame->where;
      else
        ledger_.omit("stack frames");
    }
  }
  if (!user_place.file.empty()) failure.where = user_place;
  cursor_.advance();
  return true;
}

// "    not ok 2 - inner bad # SKIP" and "ok 1 - ok one"
bool NodeTestScan::take_tap() {
  const auto first = cursor_.line();
  const auto indent = indent_of(first);
  auto text = trim(first);
  const bool is_failed = take_prefix(text, "not ok ");
  if (!is_failed && !take_prefix(text, "ok ")) return false;
  if (!take_number(text) || !take_prefix(text, " - ")) return false;
  cursor_.advance();
  const auto mark = text.rfind(" # ");
  const bool is_excused = mark != std::string_view::npos;
  Failure failure = make_failure(path_of(indent / 4, text));
  const bool has_yaml = take_yaml(failure, indent);
  if (is_failed && !is_excused)
    ledger_.add(std::move(failure));
  else if (is_excused)
    ledger_.set_aside_as("skipped tests", std::string(trim(first)));
  else
    ledger_.omit("passing tests");
  (void)has_yaml;  // node prints one always, other TAP producers need not
  return true;
}

Lines NodeTestScan::take_deeper(std::size_t indent) {
  const auto start = cursor_.position();
  while (!cursor_.done()) {
    const auto line = cursor_.line();
    const auto mark = marked_test(line).mark;
    const bool is_body = is_blank(line) || indent_of(line) > indent;
    if (!is_body || mark != MarkedTest::Mark::None || trim(line).starts_with("▶ ")) break;
    cursor_.advance();
  }
  return input_.lines.subspan(start, cursor_.position() - start);
}

void NodeTestScan::describe(std::string_view name, std::string_view path, Lines body) {
  auto& failures = ledger_.facts().failures;
  const auto known = by_name_.find(std::string(name));
  if (!is_list_ || known == by_name_.end()) {
    auto failure = make_failure(path);
    describe_js_error(body, ledger_, failure);
    by_name_[std::string(name)] = failures.size();
    ledger_.add(std::move(failure));
    return;
  }
  auto& failure = failures[known->second];
  if (failure.detail.empty())
    describe_js_error(body, ledger_, failure);
  else
    ledger_.omit("repeated failures", body.size() + 1);
  if (failure.where.file.empty()) failure.where = place_;
}

// "  ✖ inner bad (0.15ms)" with its error below it
bool NodeTestScan::take_spec() {
  const auto line = cursor_.line();
  if (line == "✖ failing tests:") {
    is_list_ = true;
    cursor_.advance();
    return true;
  }
  auto text = line;
  if (is_list_ && take_prefix(text, "test at ")) {
    const auto located = split_location(text);
    place_ = located ? located->where : Location{};
    cursor_.advance();
    return true;
  }
  const auto test = marked_test(line);
  if (test.mark == MarkedTest::Mark::None) return false;
  const auto indent = indent_of(line);
  cursor_.advance();
  if (test.mark == MarkedTest::Mark::Failed)
    describe(test.name, path_of(is_list_ ? 0 : indent / 2, test.name), take_deeper(indent));
  else
    account_for_test(line, test, ledger_);
  return true;
}

std::optional<Facts> NodeTestScan::parse() {
  while (!cursor_.done()) {
    if (is_node_test_line(cursor_.line())) ledger_.recognise();
    if (take_sum() || take_suite() || take_tap() || take_spec() ||
        take_coverage_row(cursor_, ledger_))
      continue;
    const auto frame = node_frame(cursor_.line());
    if (frame && !is_blank(cursor_.line())) {
      ledger_.omit("stack frames");
      cursor_.advance();
    } else {
      take_unknown(cursor_, ledger_);
    }
  }
  return ledger_.settle("node --test", input_);
}

std::optional<Facts> parse_node_test(const ParserInput& input) {
  return NodeTestScan(input).parse();
}

}  // namespace

Parser node_test_parser() {
  return {.name = "node_test", .recognises = recognises_node_test, .parse = parse_node_test};
}

}  // namespace nutshell::compaction
