#include "compaction/parsers/pytest_failure.h"

#include <algorithm>
#include <utility>

#include "compaction/error_words.h"
#include "compaction/parsers/diagnostic_scan.h"
#include "compaction/parsers/stack_frames.h"
#include "compaction/parsers/tracebacks.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

// "test_a.py::TestK::test_par[2]" as "TestK.test_par[2]"; parameters stay as they are.
std::string heading_of(std::string_view node) {
  const auto first = node.find("::");
  if (first == std::string_view::npos) return std::string(node);
  auto rest = node.substr(first + 2);
  std::string id;
  for (auto at = rest.find("::"); at != std::string_view::npos; at = rest.find("::")) {
    if (rest.find('[') < at) break;
    id.append(rest.substr(0, at)).append(".");
    rest.remove_prefix(at + 2);
  }
  id.append(rest);
  return id;
}

// "----- Captured stdout call -----"
bool is_captured_heading(std::string_view line) {
  return line.starts_with("---") && contains(line, " Captured ");
}

bool is_frame_separator(std::string_view line) {
  return line.starts_with("_ _ _ ");
}

constexpr std::size_t kMostBody = 6;  // lines

// Reads the lines of one report into a failure.
class ReportReader {
 public:
  ReportReader(Ledger& ledger, Failure& failure) : ledger_(ledger), failure_(failure) {}
  void read(Lines lines);

 private:
  void take_place(const LocatedText& located, std::string_view code);
  void take_captured(LineCursor& cursor);
  bool take_native(LineCursor& cursor);
  void take_line(LineCursor& cursor);
  void take_error(std::string_view text);
  void add_frame(const Location& where, std::string_view code);

  Ledger& ledger_;
  Failure& failure_;
  std::string_view code_;         // behind ">" in the frame that is being read
  std::size_t error_indent_ = 0;  // of the first "E" line in a row of them
  bool is_in_error_ = false;
  std::size_t body_left_ = 0;  // lines that may still belong to another program's error above them
};

void ReportReader::add_frame(const Location& where, std::string_view code) {
  if (!is_users_python_file(where.file)) {
    ledger_.omit("stack frames");
    return;
  }
  failure_.where = where;
  auto text = to_text(where);
  if (!code.empty()) text.append("  ").append(code);
  // Recursion repeats a few frames over and over.
  const auto recent =
      failure_.detail.end() - std::min<std::ptrdiff_t>(4, std::ssize(failure_.detail));
  const bool is_repeated = std::find(recent, failure_.detail.end(), text) != failure_.detail.end();
  if (is_repeated)
    ledger_.omit("stack frames");
  else
    failure_.detail.push_back(std::move(text));
}

// "test_a.py:14: " below a frame, "test_a.py:4: ValueError" below the last, and
// "test_a.py:14: in test_raise" above a frame of the short style.
void ReportReader::take_place(const LocatedText& located, std::string_view code) {
  add_frame(located.where, code.empty() ? code_ : code);
  code_ = {};
}

// Takes what a test printed: all of it when it is short.
void ReportReader::take_captured(LineCursor& cursor) {
  cursor.advance();
  std::vector<std::string_view> lines;
  for (; !cursor.done() && !is_captured_heading(cursor.line()); cursor.advance())
    lines.push_back(cursor.line());
  for (auto& line : condensed(lines, ledger_))
    failure_.detail.push_back(std::move(line));
}

bool ReportReader::take_native(LineCursor& cursor) {
  auto traceback = take_traceback(cursor, ledger_);
  if (!traceback) return false;
  failure_.where = traceback->where;
  for (auto& line : traceback->detail)
    failure_.detail.push_back(std::move(line));
  failure_.detail.push_back(std::move(traceback->message));
  return true;
}

// The first line's indentation is the code's; what the others have beyond it is theirs.
void ReportReader::take_error(std::string_view text) {
  if (!is_in_error_) error_indent_ = indent_of(text);
  is_in_error_ = true;
  if (is_blank(text) || contains(text, "Use -v to get ")) return;
  text.remove_prefix(std::min(indent_of(text), error_indent_));
  // A syntax error tells its place in its message.
  if (const auto frame = python_frame(text)) failure_.where = frame->where;
  const bool is_marks = trim(text).find_first_not_of("?^+- ") == std::string_view::npos;
  if (is_marks)
    ledger_.omit("code excerpts");
  else
    failure_.detail.emplace_back(text);
}

void ReportReader::take_line(LineCursor& cursor) {
  const auto line = cursor.line();
  cursor.advance();
  const std::size_t body_left = std::exchange(body_left_, 0);
  const bool is_error = line.starts_with("E   ") || line == "E";
  if (!is_error) is_in_error_ = false;
  if (line.starts_with("E   ") || line == "E") {
    take_error(trim_right(line.substr(1)));
  } else if (line.starts_with(">  ")) {
    code_ = trim(line.substr(1));
  } else if (is_traceback_link(line) || line.starts_with("!!! ")) {
    failure_.detail.emplace_back(trim(line));
  } else if (const auto located = split_location(line);
             located && !line.starts_with(' ') && contains(located->where.file, ".")) {
    const bool is_short = located->rest.starts_with("in ") && cursor.line().starts_with("    ");
    take_place(*located, is_short ? trim(cursor.line()) : std::string_view{});
    if (is_short) cursor.advance();
  } else if (!is_blank(line)) {
    const bool is_object = contains(line, " = <") && contains(line, " object at 0x");
    const bool is_said = !line.starts_with(' ') && !is_frame_separator(line) && !is_object;
    if (is_said) {
      failure_.detail.emplace_back(trim(line));
      if (looks_like_error(line)) body_left_ = kMostBody;
    } else if (body_left > 0 && line.starts_with(' ')) {
      failure_.detail.emplace_back(trim_right(line));
      body_left_ = body_left - 1;
    } else {
      ledger_.omit("code excerpts");
    }
  }
}

void ReportReader::read(Lines lines) {
  for (LineCursor cursor(lines); !cursor.done();) {
    if (is_captured_heading(cursor.line()))
      take_captured(cursor);
    else if (!take_native(cursor))
      take_line(cursor);
  }
  // The last frame is where the failure's head already points; its code may be the error's words.
  constexpr std::size_t kMostCompared = 200;
  const auto place = to_text(failure_.where);
  for (auto& line : failure_.detail) {
    if (failure_.detail.size() > kMostCompared) break;
    if (line != place && !line.starts_with(place + "  ")) continue;
    line.erase(0, std::min(line.size(), place.size() + 2));
    const bool is_said = line.starts_with("raise ") ||
                         std::ranges::any_of(failure_.detail, [&](const std::string& other) {
                           return &other != &line && !line.empty() && other.ends_with(line);
                         });
    if (is_said)
      line.clear();
    else if (!line.empty())
      line.insert(0, "> ");
  }
  std::erase_if(failure_.detail, [](const std::string& line) { return line.empty(); });
}

std::string_view after(std::string_view text, std::string_view prefix) {
  return text.starts_with(prefix) ? text.substr(prefix.size()) : std::string_view{};
}

}  // namespace

void PytestFailures::note_progress(std::string_view line) {
  for (const std::string_view word : {" FAILED", " ERROR"}) {
    const auto at = line.rfind(word);
    if (at == std::string_view::npos) continue;
    auto behind = line.substr(at + word.size());
    const auto name = line.starts_with("[gw") ? trim(behind) : trim(line.substr(0, at));
    const bool is_state = behind.empty() || behind.front() == ' ';
    if (is_state && contains(name, "::")) progress_.push_back(make_failure(name, trim(word)));
  }
}

void PytestFailures::add_report(std::string_view heading, Lines lines) {
  Report report;
  report.failure.word = heading.starts_with("ERROR ") ? "ERROR" : "FAILED";
  report.failure.name = heading;
  report.id = heading;
  for (const std::string_view prefix :
       {"ERROR at setup of ", "ERROR at teardown of ", "ERROR collecting "}) {
    const auto id = after(heading, prefix);
    if (!id.empty()) report.id = id;
  }
  const bool is_stage = heading.starts_with("ERROR at ");
  if (is_stage) report.failure.detail.emplace_back(heading.substr(6, heading.find(" of ") - 6));
  ReportReader(ledger_, report.failure).read(lines);
  add(std::move(report));
}

void PytestFailures::add_line_report(const Location& where, std::string_view message, Lines error) {
  Report report;
  report.is_line = true;
  report.failure.word = "FAILED";
  ReportReader(ledger_, report.failure).read(error);
  report.failure.where = where;
  report.id = message;
  if (report.failure.detail.empty()) report.failure.detail.emplace_back(message);
  report.failure.name = to_text(where);
  add(std::move(report));
}

void PytestFailures::add(Report report) {
  if (report.is_line)
    unnamed_lines_.push_back(reports_.size());
  else if (!report.is_named)
    unnamed_[report.failure.word + " " + report.id].push_back(reports_.size());
  reports_.push_back(std::move(report));
}

PytestFailures::Report* PytestFailures::report_of(std::string_view id, std::string_view word) {
  const auto found = unnamed_.find(std::string(word) + " " + std::string(id));
  if (found == unnamed_.end() || found->second.empty()) return nullptr;
  const auto at = found->second.front();
  found->second.pop_front();
  return &reports_[at];
}

// The lines come in the summary's order, which cuts long messages and puts dots there.
PytestFailures::Report* PytestFailures::line_report_of(std::string_view message) {
  if (message.ends_with("...")) message.remove_suffix(3);
  if (unnamed_lines_.empty()) return nullptr;
  auto& report = reports_[unnamed_lines_.front()];
  if (!std::string_view(report.id).starts_with(message)) return nullptr;
  unnamed_lines_.pop_front();
  return &report;
}

void PytestFailures::add_summary(std::string_view word, std::string_view text) {
  // " - " may stand in a parameter too: the split that a report knows is the right one.
  constexpr std::size_t kMostSplits = 16;
  std::size_t splits = 0;
  std::string_view node = text;
  std::string_view message;
  Report* report = report_of(heading_of(text), word);
  for (auto at = text.find(" - "); report == nullptr && at != std::string_view::npos;
       at = ++splits < kMostSplits ? text.find(" - ", at + 3) : std::string_view::npos) {
    const bool is_first = message.empty() && node.size() == text.size();
    const bool is_in_parameter =
        contains(text.substr(0, at), "[") && !contains(text.substr(0, at), "]");
    if (is_first && !is_in_parameter) {
      node = text.substr(0, at);
      message = text.substr(at + 3);
    }
    report = report_of(heading_of(text.substr(0, at)), word);
    if (report != nullptr) node = text.substr(0, at);
  }
  if (report == nullptr && word == "FAILED") report = line_report_of(message);
  if (report == nullptr) {
    Report fresh;
    fresh.failure = make_failure(node, word);
    fresh.is_named = true;
    if (!message.empty()) fresh.failure.detail.emplace_back(message);
    add(std::move(fresh));
    return;
  }
  report->failure.name = node;
  report->is_named = true;
}

void PytestFailures::settle() {
  for (const auto& failed : progress_) {
    auto* report = report_of(heading_of(failed.name), failed.word);
    if (report == nullptr) continue;
    report->failure.name = failed.name;
    report->is_named = true;
  }
  const bool has_reports = !reports_.empty();
  for (auto& report : reports_)
    ledger_.add(std::move(report.failure));
  if (has_reports) return;
  for (auto& failed : progress_)
    ledger_.add(std::move(failed));
}

}  // namespace nutshell::compaction
