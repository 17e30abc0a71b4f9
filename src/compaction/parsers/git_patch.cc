#include "compaction/parsers/git_patch.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>

#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

constexpr std::size_t kContext = 1;  // lines kept ahead of a change and behind it

struct Hunk {
  std::uint64_t old_left = 0;  // lines still to come
  std::uint64_t new_left = 0;
  std::uint64_t new_line = 0;  // number of the next one
  std::string_view place;      // what git says behind the second @@
  bool is_placed = false;      // and it has been said
};

// "41,7" or "41"
bool take_range(std::string_view& text, std::uint64_t& start, std::uint64_t& count) {
  const auto first = take_number(text);
  if (!first) return false;
  start = *first;
  count = 1;
  if (!take_prefix(text, ",")) return true;
  const auto second = take_number(text);
  if (second) count = *second;
  return second.has_value();
}

std::optional<Hunk> parse_hunk(std::string_view line) {
  Hunk hunk;
  std::uint64_t old_line = 0;
  const bool is_good = take_prefix(line, "@@ -") && take_range(line, old_line, hunk.old_left) &&
                       take_prefix(line, " +") && take_range(line, hunk.new_line, hunk.new_left) &&
                       take_prefix(line, " @@");
  if (!is_good) return std::nullopt;
  hunk.place = trim_left(line);
  return hunk;
}

// The path behind "--- " and "+++ ", without git's a/ and b/ and the time diff(1) prints.
std::string_view path_of(std::string_view text) {
  text = text.substr(0, text.find('\t'));
  if (text.starts_with("a/") || text.starts_with("b/")) text.remove_prefix(2);
  return text;
}

bool is_content(std::string_view line) {
  return line.empty() || std::string_view(" +-\\").find(line.front()) != std::string_view::npos;
}

class PatchReader {
 public:
  PatchReader(Lines lines, std::size_t& at) : lines_(lines), at_(at) {}

  std::optional<Patch> read() {
    while (at_ < lines_.size() && is_good_) {
      if (lines_[at_].starts_with("@@ ") && has_file_) {
        read_hunk();
      } else if (starts_patch(lines_[at_])) {
        read_file();
      } else {
        break;
      }
    }
    finish_file();
    if (!is_good_ || patch_.files == 0) return std::nullopt;
    return std::move(patch_);
  }

 private:
  [[nodiscard]] bool has(std::string_view start) const {
    return at_ < lines_.size() && lines_[at_].starts_with(start);
  }

  // The heading of a file: everything from "diff --git" to the first hunk.
  void read_file() {
    finish_file();
    has_file_ = true;
    file_added_ = file_removed_ = 0;
    name_.clear();
    note_.clear();
    patch_.sections.push_back({"", {}, {}, at_});
    ++patch_.files;
    std::string_view from;
    std::string_view to;
    if (has("diff ")) take_name();
    while (at_ < lines_.size() && take_heading(from, to)) {
    }
    if (to == "/dev/null") to = from;
    if (!to.empty()) name_ = to;
    if (name_.empty() || has("@@@")) is_good_ = false;
  }

  // "diff --git a/x b/x": the two halves are equal unless the file was renamed.
  void take_name() {
    auto text = lines_[at_++];
    ++patch_.left_out;
    if (!take_prefix(text, "diff --git ")) {
      name_ = text.substr(std::min(text.rfind(' ') + 1, text.size()));
      return;
    }
    const auto half = text.substr(text.size() / 2 + 1);
    name_ = path_of(half);
  }

  bool take_heading(std::string_view& from, std::string_view& to) {
    auto line = lines_[at_];
    constexpr std::array<std::string_view, 12> kNotes = {
        "new file",  "deleted file", "old mode",   "new mode",      "rename from",  "rename to",
        "copy from", "copy to",      "similarity", "dissimilarity", "Binary files", "index "};
    const auto note = std::find_if(kNotes.begin(), kNotes.end(),
                                   [&](std::string_view start) { return line.starts_with(start); });
    if (note != kNotes.end()) {
      if (*note != "index " && !note->ends_with("similarity")) note_ += fmt::format(" {}", line);
    } else if (take_prefix(line, "--- ")) {
      from = path_of(line);
    } else if (take_prefix(line, "+++ ")) {
      to = path_of(line);
      ++at_;
      ++patch_.left_out;
      return false;  // hunks follow
    } else {
      return false;
    }
    ++at_;
    ++patch_.left_out;
    return true;
  }

  void finish_file() {
    if (!has_file_) return;
    patch_.sections.back().head =
        fmt::format("# {} +{} -{}{}", name_, file_added_, file_removed_, note_);
    has_file_ = false;
  }

  void read_hunk() {
    auto hunk = parse_hunk(lines_[at_]);
    if (!hunk) {
      is_good_ = false;
      return;
    }
    ++at_;
    ahead_.clear();
    behind_ = 0;
    shown_to_ = 0;
    while (at_ < lines_.size() && (hunk->old_left > 0 || hunk->new_left > 0 || has("\\"))) {
      if (!is_content(lines_[at_])) break;
      take_line_of(*hunk);
    }
    // Output that was cut may end in a hunk. Elsewhere the lines are of another form, such as that
    // of --word-diff.
    const bool is_short = hunk->old_left > 0 || hunk->new_left > 0;
    if (is_short && at_ < lines_.size()) is_good_ = false;
    patch_.left_out += ahead_.size();
    drop_edge();
  }

  void take_line_of(Hunk& hunk) {
    const auto line = lines_[at_++];
    const char mark = line.empty() ? ' ' : line.front();  // some tools strip the blank
    if (mark == '+' || mark == '-') {
      show_ahead(hunk);
      show(line);
      (mark == '+' ? file_added_ : file_removed_) += 1;
      (mark == '+' ? patch_.added : patch_.removed) += 1;
      behind_ = kContext;
    } else if (mark == '\\') {
      show(line);
      return;
    } else if (behind_ > 0) {
      --behind_;
      if (is_blank(line)) {
        edge_ = line;
        has_edge_ = true;
      } else {
        show(line);
      }
    } else {
      ahead_.push_back(line);
      if (ahead_.size() > kContext) {
        ahead_.pop_front();
        ++patch_.left_out;
      }
    }
    if (mark != '+' && hunk.old_left > 0) --hunk.old_left;
    if (mark == '-') return;
    if (hunk.new_left > 0) --hunk.new_left;
    ++hunk.new_line;
    if (ahead_.empty()) shown_to_ = hunk.new_line;
  }

  // The place, if lines were left out since the last one shown, and the context before a change.
  void show_ahead(Hunk& hunk) {
    const auto first = hunk.new_line - std::min<std::uint64_t>(ahead_.size(), hunk.new_line);
    const bool is_gap = shown_to_ == 0 || first != shown_to_;
    if (is_gap) {
      drop_edge();
      show_place(hunk, first);
    } else if (has_edge_) {
      show(edge_);
      has_edge_ = false;
    }
    for (const auto line : ahead_)
      show(line);
    ahead_.clear();
    shown_to_ = hunk.new_line;
  }

  // Shows where the next lines stand, once for a hunk with git's words behind @@, and drops blank
  // lines at the edge.
  void show_place(Hunk& hunk, std::uint64_t first) {
    while (!ahead_.empty() && is_blank(ahead_.front())) {
      ahead_.pop_front();
      ++patch_.left_out;
      ++first;
    }
    const bool says_place = !hunk.place.empty() && !hunk.is_placed;
    show(fmt::format("@{}{}{}", std::max<std::uint64_t>(first, 1), says_place ? " " : "",
                     says_place ? hunk.place : ""));
    hunk.is_placed = true;
  }

  // The blank line behind a change, when what follows it is not shown.
  void drop_edge() {
    patch_.left_out += has_edge_ ? 1 : 0;
    has_edge_ = false;
  }

  void show(std::string_view line) {
    auto& section = patch_.sections.back();
    section.lines.emplace_back(line);
    if (!line.empty() && line.front() != ' ') section.brief.emplace_back(line);
  }

  Lines lines_;
  std::size_t& at_;
  Patch patch_;
  bool is_good_ = true;
  bool has_file_ = false;
  std::string name_;
  std::string note_;
  std::uint64_t file_added_ = 0;
  std::uint64_t file_removed_ = 0;
  std::deque<std::string_view> ahead_;  // context that a change may follow
  std::size_t behind_ = 0;              // context still to show
  std::string_view edge_;               // the blank line behind a change, not shown yet
  bool has_edge_ = false;
  std::uint64_t shown_to_ = 0;  // the new file's line behind the last one shown
};

}  // namespace

// "diff veld.go.orig veld.go", as gofmt -d and goimports -d print it
bool is_gofmt_diff(std::string_view line) {
  return take_prefix(line, "diff ") && !line.starts_with('-') && contains(line, ".orig ");
}

bool starts_patch(std::string_view line) {
  return line.starts_with("diff --git ") || line.starts_with("diff -") ||
         line.starts_with("--- ") || is_gofmt_diff(line);
}

std::optional<Patch> read_patch(Lines lines, std::size_t& at) {
  return PatchReader(lines, at).read();
}

}  // namespace nutshell::compaction
