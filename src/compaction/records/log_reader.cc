#include "compaction/records/log_reader.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "compaction/error_words.h"
#include "compaction/line_template.h"
#include "compaction/records/record_text.h"
#include "compaction/text_scan.h"
#include "compaction/trace_lines.h"

namespace nutshell::compaction {
namespace {

constexpr std::size_t kLongestLead = 300;  // words in front of the fields
constexpr std::size_t kLongestKey = 60;

constexpr std::array<bool, 256> make_key_bytes() {
  std::array<bool, 256> is_of_key{};
  for (unsigned byte = 0; byte < is_of_key.size(); ++byte) {
    const unsigned small = byte | 0x20U;
    is_of_key[byte] = (small >= 'a' && small <= 'z') || (byte >= '0' && byte <= '9');
  }
  for (const char mark : std::string_view("_-.@/[]"))
    is_of_key[static_cast<unsigned char>(mark)] = true;
  return is_of_key;
}

bool is_key_byte(char c) {
  static constexpr auto kIsOfKey = make_key_bytes();
  return kIsOfKey[static_cast<unsigned char>(c)];
}

struct Pair {
  std::string_view key;
  std::string_view value;
};

// The end of a value that begins at `at`: of a quoted one behind its quote.
std::size_t value_end(std::string_view line, std::size_t at) {
  if (at < line.size() && line[at] == '"') {
    for (std::size_t end = at + 1; end < line.size(); ++end) {
      if (line[end] == '\\')
        ++end;
      else if (line[end] == '"')
        return end + 1;
    }
  }
  return std::min(line.find(' ', at), line.size());
}

struct Pairs {
  std::string_view lead;  // words before the first pair
  std::vector<Pair> pairs;
  std::size_t bytes = 0;  // of the pairs
};

// Words that stand alone behind a pair belong to its value ("msg=cannot open file").
Pairs read_pairs(std::string_view line) {
  Pairs found;
  std::size_t at = indent_of(line);
  std::size_t lead_end = line.size();
  while (at < line.size()) {
    std::size_t end = at;
    while (end < line.size() && is_key_byte(line[end]))
      ++end;
    const bool is_pair = end > at && end - at <= kLongestKey && end < line.size() &&
                         line[end] == '=' && (end + 1 == line.size() || line[end + 1] != '=');
    if (is_pair) {
      const std::size_t stop = value_end(line, end + 1);
      if (found.pairs.empty()) lead_end = at;
      found.pairs.push_back({line.substr(at, end - at), line.substr(end + 1, stop - end - 1)});
      found.bytes += stop - at + 1;
      at = stop;
    } else {
      at = std::min(line.find(' ', at), line.size());
      if (!found.pairs.empty() && !found.pairs.back().value.starts_with('"')) {
        auto& value = found.pairs.back().value;
        value = {value.data(), static_cast<std::size_t>(line.data() + at - value.data())};
      }
    }
    at = std::min(line.find_first_not_of(' ', at), line.size());
  }
  found.lead = trim(line.substr(0, lead_end));
  return found;
}

JsonKind kind_of_value(std::string_view value) {
  if (value.empty()) return JsonKind::String;
  if (value == "true" || value == "false") return JsonKind::Bool;
  const bool is_number = (is_digit(value.front()) || value.front() == '-') &&
                         value.find_first_not_of("0123456789-+.eE") == std::string_view::npos;
  return is_number ? JsonKind::Number : JsonKind::String;
}

Grade grade_of_text(std::string_view line) {
  switch (look_at(line).kind) {
    case LineKind::Error:
      return Grade::Error;
    case LineKind::Warning:
      return Grade::Warning;
    case LineKind::Plain:
      break;
  }
  return Grade::Plain;
}

// "05-01 10:00:00.123  1000  1100 E Tag: text", as Android's log has it: the letter is the level.
Grade level_of_letter(std::string_view word, std::string_view rest) {
  if (word.size() != 1) return Grade::None;
  const auto tag = take_word(rest);
  const bool is_tagged = tag.ends_with(':') || rest.starts_with(":");
  if (!is_tagged) return Grade::None;
  if (word == "E" || word == "F") return Grade::Error;
  if (word == "W") return Grade::Warning;
  return word == "D" || word == "I" || word == "V" ? Grade::Plain : Grade::None;
}

bool is_any_of(char c, std::string_view few) {
  for (const char one : few) {
    if (one == c) return true;
  }
  return false;
}

struct LevelWord {
  std::string_view word;
  Grade grade;
};

constexpr std::array<LevelWord, 26> kLevels = {{
    {"TRACE", Grade::Plain},  {"DEBUG", Grade::Plain},     {"INFO", Grade::Plain},
    {"NOTICE", Grade::Plain}, {"WARN", Grade::Warning},    {"WARNING", Grade::Warning},
    {"ERROR", Grade::Error},  {"FATAL", Grade::Error},     {"CRITICAL", Grade::Error},
    {"PANIC", Grade::Error},  {"SEVERE", Grade::Error},    {"trace", Grade::Plain},
    {"debug", Grade::Plain},  {"info", Grade::Plain},      {"notice", Grade::Plain},
    {"warn", Grade::Warning}, {"warning", Grade::Warning}, {"error", Grade::Error},
    {"fatal", Grade::Error},  {"critical", Grade::Error},  {"ERR", Grade::Error},
    {"INF", Grade::Plain},    {"WRN", Grade::Warning},     {"DBG", Grade::Plain},
    {"TRC", Grade::Plain},    {"FTL", Grade::Error},
}};

// The words of kLevels that begin with a byte; most words of a line begin with none.
constexpr std::array<std::uint32_t, 256> make_level_starts() {
  std::array<std::uint32_t, 256> words{};
  for (std::size_t at = 0; at < kLevels.size(); ++at)
    words[static_cast<unsigned char>(kLevels[at].word.front())] |= 1U << at;
  return words;
}

// Returns the level that the word is, without the brackets around it.
Grade level_of_word(std::string_view word) {
  static constexpr auto kStarts = make_level_starts();
  while (!word.empty() && is_any_of(word.front(), "[(<|"))
    word.remove_prefix(1);
  if (word.empty()) return Grade::None;
  std::uint32_t candidates = kStarts[static_cast<unsigned char>(word.front())];
  if (candidates == 0) return Grade::None;
  word = word.substr(0, word.find_first_of("]):>|"));
  for (; candidates != 0; candidates &= candidates - 1) {
    const LevelWord& level = kLevels[static_cast<std::size_t>(std::countr_zero(candidates))];
    if (level.word == word) return level.grade;
  }
  return Grade::None;
}

// The level of a text's first words: "2026-01-02 10:00:00 [ERROR] x"; None if it has none.
Grade level_of_lead(std::string_view line) {
  constexpr std::size_t kWords = 6;
  auto rest = line.substr(0, kLongestLead);
  for (std::size_t count = 0; count < kWords && !rest.empty(); ++count) {
    const auto word = take_word(rest);
    const Grade letter = count > 0 ? level_of_letter(word, rest) : Grade::None;
    if (letter != Grade::None) return letter;
    const Grade level = level_of_word(word);
    if (level != Grade::None) return level;
  }
  return Grade::None;
}

// A line of level INFO may still tell of an error.
Grade grade_of_line(std::string_view line) {
  const Grade level = level_of_lead(line);
  if (level >= Grade::Warning) return level;
  if (const unsigned status = http_status(line); status != 0)
    return status >= 500 ? Grade::Error : status >= 400 ? Grade::Warning : Grade::Plain;
  const Grade look = grade_of_text(line);
  return level == Grade::Plain ? std::min(look, Grade::Warning) : look;
}

// A line with a place, among lines with a time, is what a compiler or checker printed.
Grade grade_of_place(std::string_view line) {
  const auto located = split_location(line);
  const bool is_place = located && located->where.column > 0 && !located->rest.empty();
  return is_place ? Grade::Warning : Grade::None;
}

// PostgreSQL logs the details of a message as lines of their own, with its time.
bool is_more_of_postgres(std::string_view line) {
  constexpr std::array<std::string_view, 5> kParts = {"STATEMENT", "DETAIL", "HINT", "CONTEXT",
                                                      "QUERY"};
  const auto head = line.substr(0, kLongestLead);
  for (auto at = head.find(":  "); at != std::string_view::npos; at = head.find(":  ", at + 1)) {
    const auto before = head.substr(0, at);
    const bool is_part = std::any_of(kParts.begin(), kParts.end(),
                                     [&](std::string_view part) { return before.ends_with(part); });
    if (is_part) return true;
  }
  return false;
}

// A line that is neither JSON nor logfmt.
struct TextLine {
  std::string_view text;
  bool is_timed = false;  // begins as a line of a log does
};

class LogReader {
 public:
  explicit LogReader(std::string_view text) : text_(text) {
    time_ = log_.set.column(RecordSet::kRoot, "time");
    lead_ = log_.set.column(RecordSet::kRoot, "@prefix");
    message_ = log_.set.column(RecordSet::kRoot, "message");
    more_ = log_.set.column(RecordSet::kRoot, kMoreLines);
  }

  ReadLog read() {
    std::size_t number = 1;
    for (std::size_t at = 0; at < text_.size(); ++number) {
      const std::size_t end = std::min(text_.find('\n', at), text_.size());
      add_line(text_.substr(at, end - at), number);
      at = end + 1;
    }
    end_record();
    return std::move(log_);
  }

 private:
  void add_line(std::string_view line, std::size_t number) {
    if (is_blank(line)) return;
    ++log_.filled;
    if (add_json(line, number) || add_logfmt(line, number)) return;
    const TextLine text{line, is_log_line(line)};
    if (continues(text)) {
      ++log_.continued;
      if (more_begin_ == nullptr) more_begin_ = line.data();
      more_end_ = line.data() + line.size();
      return;
    }
    begin(number);
    add_text(text);
  }

  // A line that is indented, or part of a stack trace, belongs to the record before it.
  [[nodiscard]] bool continues(const TextLine& text) const {
    if (log_.set.records().empty()) return false;
    const auto line = text.text;
    if (is_more_of_postgres(line)) return true;
    if (text.is_timed) return false;
    if (indent_of(line) > 0 || is_trace_frame(line) || is_trace_cause(line)) return true;
    if (line.starts_with("Traceback (most recent call last)")) return true;
    // the message of an exception, at the end of a trace or as its first line
    const auto colon = line.find(':');
    const auto name = line.substr(0, colon);
    const bool is_exception = colon != std::string_view::npos && !contains(name, " ") &&
                              (name.ends_with("Error") || contains(name, "Exception"));
    return is_exception;
  }

  bool add_json(std::string_view line, std::size_t number) {
    const auto open = line.find('{');
    const bool is_after_lead =
        open <= kLongestLead && line.ends_with('}') &&  // npos is larger
        (open == 0 || std::string_view(" \t|:").find(line[open - 1]) != std::string_view::npos);
    if (!is_after_lead) return false;
    const auto start = static_cast<std::size_t>(line.data() - text_.data());
    JsonReader reader(text_.substr(0, start + line.size()));
    tree_.nodes.clear();
    const auto end = reader.read(start + open, tree_);
    if (!end || *end != start + line.size() || tree_.nodes.front().children == 0) return false;
    begin(number);
    ++log_.json;
    log_.set.add_members(text_, tree_, 0);
    add_lead(trim(line.substr(0, open)));
    return true;
  }

  bool add_logfmt(std::string_view line, std::size_t number) {
    if (indent_of(line) > 0) return false;
    const auto found = read_pairs(line);
    const bool is_logfmt = found.pairs.size() >= 2 && found.lead.size() <= kLongestLead &&
                           (found.bytes + found.lead.size() + 8 >= line.size());
    const bool is_mostly = found.pairs.size() >= 3 || found.lead.empty() || is_log_line(line) ||
                           found.bytes * 2 >= line.size();
    if (!is_logfmt || !is_mostly) return false;
    begin(number);
    ++log_.logfmt;
    for (const Pair& pair : found.pairs)
      log_.set.add(log_.set.column(RecordSet::kRoot, pair.key), kind_of_value(pair.value),
                   pair.value);
    add_lead(found.lead);
    return true;
  }

  void add_text(const TextLine& line) {
    ++log_.text;
    add_timed(line.text);
    const Grade of_place = line.is_timed ? Grade::None : grade_of_place(line.text);
    log_.set.grade(std::max(grade_of_line(line.text), of_place));
    if (line.is_timed) ++log_.timed;
  }

  // Text in front of the fields is the message of a record that has no other.
  void add_lead(std::string_view lead) {
    const Record& record = log_.set.records().back();
    const bool has_message = log_.set.find(record, FieldRole::Message) != nullptr;
    const bool is_timed = log_.set.find(record, FieldRole::Time) != nullptr ||
                          log_.set.find(record, FieldRole::Level) != nullptr || is_log_line(lead);
    if (is_timed) ++log_.timed;
    if (lead.empty()) return;
    if (has_message) return log_.set.add(lead_, JsonKind::String, lead);
    log_.set.grade(grade_of_line(lead));
    add_timed(lead);
  }

  void add_timed(std::string_view line) {
    const auto rest = without_time(line);
    const auto time = trim(line.substr(0, line.size() - rest.size()));
    const bool has_time = time.size() >= 8 && contains(time, ":");
    if (has_time) log_.set.add(time_, JsonKind::String, time);
    log_.set.add(message_, JsonKind::String, has_time ? rest : line);
  }

  void begin(std::size_t number) {
    end_record();
    log_.set.begin(number);
  }

  // Adds the lines that continue the last record.
  void end_record() {
    if (more_begin_ == nullptr) return;
    const std::string_view more(more_begin_, static_cast<std::size_t>(more_end_ - more_begin_));
    log_.set.add(more_, JsonKind::String, more);
    more_begin_ = nullptr;
  }

  std::string_view text_;
  JsonTree tree_;
  ReadLog log_;
  std::uint32_t time_ = 0;
  std::uint32_t lead_ = 0;
  std::uint32_t message_ = 0;
  std::uint32_t more_ = 0;
  const char* more_begin_ = nullptr;
  const char* more_end_ = nullptr;
};

}  // namespace

std::string joined_lines(Lines lines) {
  std::size_t bytes = 0;
  for (const auto line : lines)
    bytes += line.size() + 1;
  std::string text;
  text.reserve(bytes);
  for (const auto line : lines) {
    text += line;
    text += '\n';
  }
  return text;
}

ReadLog read_log(std::string_view text) {
  return LogReader(text).read();
}

}  // namespace nutshell::compaction
