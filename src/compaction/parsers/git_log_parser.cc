#include "compaction/parsers/git_log_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "compaction/parsers/git_patch.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

constexpr std::size_t kShortHash = 7;

bool is_hash(std::string_view text) {
  return text.size() >= kShortHash &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool starts_commit(std::string_view line) {
  return take_prefix(line, "commit ") && is_hash(take_word(line));
}

bool recognises_git_log(const ParserInput& input) {
  if (input.lines.size() < 3 || !starts_commit(input.lines.front())) return false;
  return input.lines[1].starts_with("Author:") || input.lines[1].starts_with("Merge:");
}

// "Fri Jan 2 10:20:30 2026 +0100" as "2026-01-02"; any other format stays as it is.
std::string day_of(std::string_view date) {
  constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
  const auto words = split_words(date);
  if (words.size() != 6 || words[1].size() != 3) return std::string(trim(date));
  const auto month = kMonths.find(words[1]);
  auto day_text = words[2];
  const auto day = take_number(day_text);
  if (month == std::string_view::npos || !day) return std::string(trim(date));
  return fmt::format("{}-{:02}-{:02}", words[4], month / 3 + 1, *day);
}

class LogReader {
 public:
  explicit LogReader(const ParserInput& input) : lines_(input.lines) {
    const auto commits = std::count_if(lines_.begin(), lines_.end(), starts_commit);
    keeps_bodies_ = commits == 1;
  }

  std::optional<Facts> read() {
    while (at_ < lines_.size()) {
      if (!starts_commit(lines_[at_])) return std::nullopt;
      if (!read_commit()) return std::nullopt;
    }
    facts_.is_data = true;
    facts_.tool = "git log";
    facts_.totals.push_back({"commits", commits_});
    facts_.omitted = {{"lines of commit bodies", body_lines_}, {"context lines", patch_lines_}};
    return std::move(facts_);
  }

 private:
  bool read_commit() {
    const std::size_t first_line = at_;
    auto text = lines_[at_++];
    (void)take_prefix(text, "commit ");  // starts_commit() saw it
    const auto hash = take_word(text).substr(0, kShortHash);
    std::string marks(text);  // "(HEAD -> main, tag: v1)"
    read_headings(marks);
    ++commits_;
    skip_blank();
    const auto subject = take_subject();
    const auto by = take_heading();
    auto line = fmt::format("{} {}{}{}", hash, subject, marks.empty() ? "" : " ", marks);
    if (facts_.sections.empty()) {
      if (!by.empty()) facts_.kept.push_back(by);
      facts_.kept.push_back(std::move(line));
    } else {
      const auto head = by.empty() ? line : fmt::format("{}\n{}", by, line);
      facts_.sections.push_back({head, {}, {}, first_line});
    }
    read_body();
    return read_rest();
  }

  void read_headings(std::string& marks) {
    while (at_ < lines_.size() && !is_blank(lines_[at_])) {
      auto line = lines_[at_];
      if (take_prefix(line, "Author:")) {
        author_ = std::string(trim(line.substr(0, line.find(" <"))));
      } else if (take_prefix(line, "Date:") || take_prefix(line, "AuthorDate:")) {
        day_ = day_of(line);
      } else if (take_prefix(line, "Merge: ")) {
        marks += fmt::format("{}merge {}", marks.empty() ? "" : " ", line);
      } else if (line.starts_with("    ") || starts_patch(line)) {
        return;
      } else {
        add_heading(trim(line), marks);
      }
      ++at_;
    }
  }

  // Adds a heading of --format=fuller, -g or --show-signature. A committer who is the author says
  // nothing new.
  void add_heading(std::string_view line, std::string& marks) const {
    auto committer = line;
    if (take_prefix(committer, "Commit:") &&
        trim(committer.substr(0, committer.find(" <"))) == author_)
      return;
    if (line.starts_with("CommitDate:")) return;
    marks += fmt::format("{}{}", marks.empty() ? "" : " ", line);
  }

  // Returns author and day as far as they differ from the last heading.
  std::string take_heading() {
    const bool is_other_author = said_author_ != author_;
    const bool is_other_day = said_day_ != day_;
    said_author_ = author_;
    said_day_ = day_;
    if (!is_other_author && !is_other_day) return "";
    if (!is_other_author) return day_ + ":";
    return is_other_day ? fmt::format("{}, {}:", author_, day_) : author_ + ":";
  }

  void forget_heading() {
    said_author_.reset();
    said_day_.reset();
  }

  // Adds a line; behind a patch it belongs to the section of its commit.
  void add(std::string_view line) {
    if (facts_.sections.empty()) {
      facts_.kept.emplace_back(line);
      return;
    }
    facts_.sections.back().lines.emplace_back(line);
    facts_.sections.back().brief.emplace_back(line);
  }

  void skip_blank() {
    while (at_ < lines_.size() && is_blank(lines_[at_]))
      ++at_;
  }

  std::string_view take_subject() {
    if (at_ >= lines_.size() || !lines_[at_].starts_with("    ")) return "";
    return trim(lines_[at_++]);
  }

  void read_body() {
    for (; at_ < lines_.size(); ++at_) {
      const auto line = lines_[at_];
      const bool is_body = line.starts_with("    ") || line == "   ";
      if (!is_body && !is_blank(line)) return;
      if (is_blank(line)) continue;
      if (keeps_bodies_) {
        add(line.substr(2));
      } else {
        ++body_lines_;
      }
    }
  }

  // Reads what follows the message: a patch, or the lines of --stat and --name-status.
  bool read_rest() {
    while (at_ < lines_.size() && !starts_commit(lines_[at_])) {
      const auto line = lines_[at_];
      if (starts_patch(line)) {
        auto patch = read_patch(lines_, at_);
        if (!patch) return false;
        patch_lines_ += patch->left_out;
        std::move(patch->sections.begin(), patch->sections.end(),
                  std::back_inserter(facts_.sections));
        forget_heading();
        continue;
      }
      if (!is_blank(line)) {
        add(line);
        forget_heading();
      }
      ++at_;
    }
    return true;
  }

  Lines lines_;
  std::size_t at_ = 0;
  bool keeps_bodies_ = false;
  Facts facts_;
  std::string author_, day_;
  std::optional<std::string> said_author_, said_day_;  // by the last heading
  std::uint64_t commits_ = 0;
  std::uint64_t body_lines_ = 0;
  std::uint64_t patch_lines_ = 0;
};

std::optional<Facts> parse_git_log(const ParserInput& input) {
  return LogReader(input).read();
}

}  // namespace

Parser git_log_parser() {
  return {"git log", recognises_git_log, parse_git_log};
}

}  // namespace nutshell::compaction
