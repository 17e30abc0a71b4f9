#include "compaction/diagnostic_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "compaction/body_line.h"
#include "compaction/compactor.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

constexpr std::size_t kLongestValue = 80;
constexpr std::size_t kMostPerLine = 40;
constexpr std::size_t kManyTokens = 800;  // of diagnostics that fit
constexpr std::size_t kMuchSmaller = 65;  // percent of their tokens
constexpr std::size_t kSmaller = 80;
constexpr std::string_view kPlaceholder = "\xe2\x80\xa6";

bool is_name_byte(char c) {
  const char small = static_cast<char>(c | 0x20);
  return (small >= 'a' && small <= 'z') || is_digit(c) || c == '_' ||
         (static_cast<unsigned char>(c) & 0x80U) != 0;
}

// A message cut into the text around its values: quoted words, names and whole numbers.
struct Parts {
  std::vector<std::string_view> texts;  // one more than values
  std::vector<std::string_view> values;
};

// The end of a word that looks like a name in a program: it holds "_", or a capital behind a small
// letter. 0 if it does not.
std::size_t name_end(std::string_view text, std::size_t at) {
  std::size_t end = at;
  bool is_name = false;
  for (; end < text.size() && is_name_byte(text[end]); ++end) {
    const bool is_capital = text[end] >= 'A' && text[end] <= 'Z';
    const bool is_behind_small = end > at && text[end - 1] >= 'a' && text[end - 1] <= 'z';
    is_name = is_name || text[end] == '_' || (is_capital && is_behind_small);
  }
  return is_name && end - at <= kLongestValue ? end : 0;
}

// The end of the value that begins at `at`; 0 if none does.
std::size_t value_end(std::string_view text, std::size_t at) {
  const bool is_after_name = at > 0 && is_name_byte(text[at - 1]);
  if (is_after_name) return 0;
  if (at > 0 && (text[at - 1] == '\'' || text[at - 1] == '"' || text[at - 1] == '`')) {
    const auto end =
        text.substr(0, std::min(text.size(), at + kLongestValue)).find(text[at - 1], at);
    const bool is_closed = end != std::string_view::npos && end > at &&
                           (end + 1 == text.size() || !is_name_byte(text[end + 1]));
    const bool is_word =
        is_closed && text.substr(at, end - at).find_first_of(" ,;\t\"") == std::string_view::npos;
    return is_word ? end : 0;
  }
  std::size_t end = at;
  if (const std::size_t name = name_end(text, at); name != 0) return name;
  while (end < text.size() && is_digit(text[end]))
    ++end;
  const bool is_whole = end > at && (end == text.size() || !is_name_byte(text[end]));
  const bool is_part =
      at > 0 && (text[at - 1] == '.' || text[at - 1] == '-' || text[at - 1] == '/');
  return is_whole && !is_part ? end : 0;
}

Parts parts_of_message(std::string_view message) {
  Parts parts;
  std::size_t start = 0;
  for (std::size_t at = 0; at < message.size();) {
    const std::size_t end = value_end(message, at);
    if (end == 0) {
      ++at;
      continue;
    }
    parts.texts.push_back(message.substr(start, at - start));
    parts.values.push_back(message.substr(at, end - at));
    at = start = end;
  }
  parts.texts.push_back(message.substr(start));
  return parts;
}

// Messages that differ in nothing but values.
struct Form {
  const Diagnostic* first = nullptr;
  Parts parts;  // of the first one
  std::vector<bool> varies;
  std::size_t count = 0;
  std::string letter;
};

std::string_view word_of(const Diagnostic& diagnostic) {
  if (!diagnostic.word.empty()) return diagnostic.word;
  constexpr std::array<std::string_view, 4> kWords = {"error", "warning", "note", ""};
  return kWords.at(static_cast<std::size_t>(diagnostic.severity));
}

std::string form_key(const Diagnostic& diagnostic, const Parts& parts) {
  return fmt::format("{}\n{}\n{}\n{}", static_cast<int>(diagnostic.severity), diagnostic.word,
                     diagnostic.rule, fmt::join(parts.texts, "\n"));
}

// "A", "B", … "Z", "AA", …
std::string letter_of(std::size_t number) {
  std::string letter;
  for (++number; number > 0; number = (number - 1) / 26)
    letter.insert(letter.begin(), static_cast<char>('A' + (number - 1) % 26));
  return letter;
}

bool is_minor(const Diagnostic& diagnostic) {
  return diagnostic.severity == Severity::Warning || diagnostic.severity == Severity::Note;
}

std::size_t head_tokens(const std::vector<FactBlock>& blocks) {
  std::size_t tokens = 0;
  for (const FactBlock& block : blocks)
    tokens += estimate_tokens(block.head);
  return tokens;
}

class Table {
 public:
  explicit Table(const std::vector<Diagnostic>& diagnostics) : diagnostics_(diagnostics) {}

  DiagnosticBlocks make() {
    for (const Diagnostic& diagnostic : diagnostics_) {
      add_form(diagnostic);
      table_.details += diagnostic.detail.size();
    }
    std::size_t letters = 0;
    for (const bool is_minor_pass : {false, true}) {
      for (Form& form : forms_) {
        if (is_minor(*form.first) == is_minor_pass) add_legend(form, letters++);
      }
    }
    for (const bool is_minor_pass : {false, true})
      add_rows(is_minor_pass);
    table_.is_table = true;
    return std::move(table_);
  }

 private:
  void add_form(const Diagnostic& diagnostic) {
    auto parts = parts_of_message(diagnostic.message);
    const auto [found, is_new] = known_.emplace(form_key(diagnostic, parts), forms_.size());
    if (is_new) {
      std::vector<bool> varies(parts.values.size(), false);
      forms_.push_back({&diagnostic, parts, std::move(varies), 0, ""});
    }
    Form& form = forms_[found->second];
    ++form.count;
    for (std::size_t at = 0; at < parts.values.size(); ++at) {
      if (parts.values[at] != form.parts.values[at]) form.varies[at] = true;
    }
    form_of_.push_back(found->second);
    values_.push_back(std::move(parts.values));
  }

  void add_legend(Form& form, std::size_t number) {
    form.letter = letter_of(number);
    const auto word = word_of(*form.first);
    auto line = fmt::format("{} = {}{}", form.letter, word, word.empty() ? "" : ": ");
    for (std::size_t at = 0; at < form.parts.values.size(); ++at) {
      line += form.parts.texts[at];
      line += form.varies[at] ? kPlaceholder : form.parts.values[at];
    }
    line += form.parts.texts.back();
    if (!form.first->rule.empty()) line += fmt::format(" [{}]", form.first->rule);
    const auto title =
        number == 0 ? "each message once; its letter and its words (…) are behind each place:\n"
                    : "";
    table_.blocks.push_back({fmt::format("{}{} ×{}\n", title, shortened(as_data(line)), form.count),
                             "", form.first->message, 0});
  }

  void add_rows(bool is_minor_pass) {
    std::vector<std::vector<std::size_t>> files;
    std::unordered_map<std::string_view, std::size_t> known;
    for (std::size_t at = 0; at < diagnostics_.size(); ++at) {
      if (is_minor(diagnostics_[at]) != is_minor_pass) continue;
      const auto [found, is_new] = known.emplace(diagnostics_[at].where.file, files.size());
      if (is_new) files.emplace_back();
      files[found->second].push_back(at);
    }
    for (const auto& file : files) {
      for (std::size_t start = 0; start < file.size(); start += kMostPerLine)
        add_row({file.data() + start, std::min(kMostPerLine, file.size() - start)});
    }
  }

  void add_row(std::span<const std::size_t> members) {
    const Location& first = diagnostics_[members.front()].where;
    std::string row = first.file.empty() ? "no place:" : first.file + ":";
    for (const std::size_t at : members) {
      row += at == members.front() ? " " : ", ";
      row += entry_of(at);
    }
    table_.blocks.push_back({as_data(row) + "\n", "", to_text(first), members.size()});
  }

  [[nodiscard]] std::string entry_of(std::size_t at) const {
    const Location& where = diagnostics_[at].where;
    const Form& form = forms_[form_of_[at]];
    std::string entry;
    if (where.line > 0) entry = std::to_string(where.line);
    if (where.column > 0) entry += fmt::format(":{}", where.column);
    entry += fmt::format("{}{}", entry.empty() ? "" : " ", form.letter);
    for (std::size_t value = 0; value < form.varies.size(); ++value) {
      if (form.varies[value]) entry += fmt::format(" {}", values_[at][value]);
    }
    return entry;
  }

  const std::vector<Diagnostic>& diagnostics_;
  std::vector<Form> forms_;
  std::unordered_map<std::string, std::size_t> known_;
  std::vector<std::size_t> form_of_;  // by diagnostic
  std::vector<std::vector<std::string_view>> values_;
  DiagnosticBlocks table_;
};

}  // namespace

DiagnosticBlocks diagnostic_table(const std::vector<Diagnostic>& diagnostics) {
  return Table(diagnostics).make();
}

DiagnosticBlocks blocks_within(const std::vector<Diagnostic>& diagnostics, std::size_t max_tokens) {
  DiagnosticBlocks whole{diagnostic_blocks(diagnostics)};
  const std::size_t tokens = head_tokens(whole.blocks);
  const bool fits = tokens <= max_tokens;
  if (fits && tokens < kManyTokens) return whole;
  auto table = diagnostic_table(diagnostics);
  const std::size_t least = fits ? kMuchSmaller : kSmaller;
  const bool is_better = head_tokens(table.blocks) * 100 < tokens * least;
  return is_better && (!fits || table.details == 0) ? table : whole;
}

}  // namespace nutshell::compaction
