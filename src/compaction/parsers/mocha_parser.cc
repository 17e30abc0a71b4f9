#include "compaction/parsers/mocha_parser.h"

#include <array>
#include <string>

#include "compaction/parsers/diagnostic_scan.h"
#include "compaction/parsers/js_reports.h"
#include "compaction/parsers/ledger.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

// "  1 passing (43ms)", "  5 failing"
std::optional<Total> sum_of(std::string_view line) {
  if (!line.starts_with("  ") || line.starts_with("   ")) return std::nullopt;
  auto text = trim(line);
  const auto count = take_number(text);
  if (!count || !take_prefix(text, " ")) return std::nullopt;
  const auto word = take_word(text);
  constexpr std::array<std::string_view, 3> kWords = {"passing", "pending", "failing"};
  for (const auto known : kWords) {
    if (word == known && (text.empty() || text.starts_with('(')))
      return Total{std::string(word), *count};
  }
  return std::nullopt;
}

bool is_mocha_line(std::string_view line) {
  const auto sum = sum_of(line);
  return sum && (sum->word == "passing" || sum->word == "failing");
}

bool recognises_mocha(const ParserInput& input) {
  return input.command.has("mocha") || has_line(input.lines, is_mocha_line);
}

// "  3) Array": the heading of failure 3, once the sums have been printed.
bool is_heading(std::string_view line, std::uint64_t number) {
  if (!line.starts_with("  ") || line.starts_with("    ")) return false;
  auto text = trim_left(line);
  const auto found = take_number(text);
  return found && *found == number && text.starts_with(") ");
}

class MochaScan {
 public:
  explicit MochaScan(const ParserInput& input) : input_(input), cursor_(input.lines) {}
  std::optional<Facts> parse();

 private:
  bool take_sum();
  bool take_failure();
  bool take_progress();
  std::string take_title();

  const ParserInput& input_;
  LineCursor cursor_;
  Ledger ledger_;
  std::uint64_t next_ = 1;  // number of the next failure
  bool has_sums_ = false;
};

bool MochaScan::take_sum() {
  const auto sum = sum_of(cursor_.line());
  if (!sum) return false;
  ledger_.add_total(sum->word, sum->count);
  if (sum->word == "failing") ledger_.expect_failures(sum->count);
  if (is_mocha_line(cursor_.line())) ledger_.recognise();
  has_sums_ = true;
  cursor_.advance();
  return true;
}

// Takes the names of suites and test, each deeper than the one before; the last ends with a colon.
std::string MochaScan::take_title() {
  constexpr std::size_t kDeepest = 40;
  auto first = trim(cursor_.line());
  (void)take_until(first, ") ");  // the number: is_heading saw it
  std::string title;
  auto part = first;
  for (std::size_t depth = 0; depth < kDeepest && !cursor_.done(); ++depth) {
    cursor_.advance();
    if (!title.empty()) title += ' ';
    if (part.ends_with(':')) {
      title += part.substr(0, part.size() - 1);
      return title;
    }
    title += part;
    part = trim(cursor_.line());
    if (part.empty()) return title;
  }
  return title;
}

bool MochaScan::take_failure() {
  if (!has_sums_ || !is_heading(cursor_.line(), next_)) return false;
  ++next_;
  auto failure = make_failure(take_title());
  const auto start = cursor_.position();
  while (!cursor_.done() && !is_heading(cursor_.line(), next_) && !sum_of(cursor_.line()) &&
         !cursor_.line().starts_with("npm "))
    cursor_.advance();
  describe_js_error(input_.lines.subspan(start, cursor_.position() - start), ledger_, failure);
  ledger_.add(std::move(failure));
  return true;
}

// "    ✔ returns -1", "      3) fails here", "    - pending", "  ,!!.!!!"
bool MochaScan::take_progress() {
  auto text = trim(cursor_.line());
  if (text.empty() || has_sums_) return false;
  const auto test = marked_test(cursor_.line());
  const bool is_dots = text.find_first_not_of(".,!") == std::string_view::npos;
  const bool is_number = take_number(text) && text.starts_with(") ");
  const bool is_pending =
      trim(cursor_.line()).starts_with("- ") && cursor_.line().starts_with("  ");
  if (test.mark == MarkedTest::Mark::None && !is_dots && !is_number && !is_pending) return false;
  if (is_pending)
    ledger_.set_aside_as("skipped tests", "pending " + std::string(trim(cursor_.line())));
  else
    account_for_test(cursor_.line(), test, ledger_);
  cursor_.advance();
  return true;
}

std::optional<Facts> MochaScan::parse() {
  while (!cursor_.done()) {
    if (take_sum() || take_failure() || take_progress() || take_coverage_row(cursor_, ledger_))
      continue;
    take_unknown(cursor_, ledger_);
  }
  return ledger_.settle("mocha", input_);
}

std::optional<Facts> parse_mocha(const ParserInput& input) {
  return MochaScan(input).parse();
}

}  // namespace

Parser mocha_parser() {
  return {.name = "mocha", .recognises = recognises_mocha, .parse = parse_mocha};
}

}  // namespace nutshell::compaction
