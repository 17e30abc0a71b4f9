#include "init/search/file_search.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "base/utf8_text.h"

namespace nutshell::init::search {
namespace {

constexpr std::size_t kLookedAtForBinary = 64U << 10U;
constexpr std::size_t kCutOverlap = 64U << 10U;      // of pieces of a line longer than a window
constexpr std::size_t kMostKeptContext = 1U << 20U;  // bytes carried from block to block
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

bool is_binary(std::string_view text) {
  return text.substr(0, kLookedAtForBinary).find('\0') != std::string_view::npos;
}

LineWindow::Size size_for(const Matcher& matcher) {
  return matcher.is_multiline() ? LineWindow::Size::WholeFile : LineWindow::Size::Lines;
}

// Eight bytes at a time: each byte that is a newline leaves its highest bit set, and only it.
std::uint64_t count_newlines(std::string_view text) {
  constexpr std::uint64_t kLowBits = 0x7F7F7F7F7F7F7F7FULL;
  constexpr std::uint64_t kNewlines = 0x0A0A0A0A0A0A0A0AULL;
  std::uint64_t count = 0;
  for (; text.size() >= sizeof kNewlines; text.remove_prefix(sizeof kNewlines)) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data(), sizeof word);
    word ^= kNewlines;
    const std::uint64_t others = ((word & kLowBits) + kLowBits) | word | kLowBits;
    count += static_cast<std::uint64_t>(std::popcount(~others));
  }
  return count + static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
}

// Returns at most `most` bytes of a line, with `focus` among them.
wire::SearchLine cut_line(std::string_view text, std::size_t focus, std::size_t most) {
  wire::SearchLine line;
  std::size_t begin = 0;
  std::size_t end = text.size();
  if (text.size() > most) {
    begin = std::min(focus - std::min(focus, most / 3), text.size() - most);
    end = begin + most;
    while (begin < end && begin > 0 && is_inside_character(text[begin]))
      ++begin;
    while (end > begin && end < text.size() && is_inside_character(text[end]))
      --end;
  }
  line.text.assign(text.substr(begin, end - begin));
  line.cut_bytes = text.size() - line.text.size();
  return line;
}

// Turns matches into the lines around them. Goes forward only, block by block.
class ExcerptWriter {
 public:
  ExcerptWriter(const Matcher& matcher, const Excerpt& excerpt, ExcerptLines out)
      : matcher_(matcher), excerpt_(excerpt), lines_(out.lines), room_(out.room) {}

  // Returns false once all matches are taken.
  bool feed(const LineWindow::Block& block);
  // The number of bytes of this block that the next one must begin with, for its context.
  [[nodiscard]] std::size_t wanted_again() const;
  // Leaves the block, but keeps its last bytes.
  void leave(std::size_t kept);
  [[nodiscard]] std::uint64_t taken() const { return taken_; }
  [[nodiscard]] bool ended_inside_match() const { return ended_inside_match_; }
  void line_skipped() { ++first_number_; }

 private:
  enum class Role : std::uint8_t { Match = 0, Context = 1, MoreOfMatch = 2 };

  bool take(const Match& match);
  void take_after(std::size_t limit);
  std::size_t begin_of_context(std::size_t line_begin) const;
  wire::SearchLine line_at(std::size_t begin, Role role, std::size_t focus);
  bool append(std::vector<wire::SearchLine> group);

  const Matcher& matcher_;
  const Excerpt& excerpt_;
  std::vector<wire::SearchLine>& lines_;
  std::size_t& room_;
  std::string_view text_;
  std::uint64_t first_number_ = 1;  // of the line at the block's begin
  std::uint64_t number_ = 1;        // of the line at `counted_`
  std::size_t counted_ = 0;
  std::size_t shown_to_ = 0;
  std::uint64_t seen_ = 0;
  std::uint64_t taken_ = 0;
  std::uint32_t after_left_ = 0;
  bool is_full_ = false;
  bool ended_inside_match_ = false;
};

void ExcerptWriter::leave(std::size_t kept) {
  const std::size_t dropped = text_.size() - std::min(kept, text_.size());
  first_number_ += count_newlines(text_.substr(0, dropped));
  shown_to_ -= std::min(shown_to_, dropped);
  text_ = {};
}

bool ExcerptWriter::feed(const LineWindow::Block& block) {
  text_ = block.text;
  counted_ = 0;
  number_ = first_number_;
  ended_inside_match_ = false;
  Matcher::Cursor cursor(matcher_, text_.substr(block.fresh));
  while (taken_ < excerpt_.take && !is_full_) {
    auto match = cursor.next(Matcher::Cursor::Places::Wanted);
    if (!match) break;
    match->line_begin += block.fresh;
    match->line_end += block.fresh;
    match->begin += block.fresh;
    match->end += block.fresh;
    ended_inside_match_ = match->line_end == text_.size();
    take_after(match->line_begin);
    if (++seen_ > excerpt_.skip) is_full_ = !take(*match);
  }
  take_after(text_.size());
  return !is_full_ && (taken_ < excerpt_.take || after_left_ > 0);
}

std::size_t ExcerptWriter::wanted_again() const {
  const std::size_t begin = begin_of_context(text_.size());
  const std::size_t wanted = text_.size() - begin;
  return excerpt_.context > 0 && wanted <= kMostKeptContext ? wanted : 0;
}

std::size_t ExcerptWriter::begin_of_context(std::size_t line_begin) const {
  std::size_t begin = line_begin;
  for (std::uint32_t i = 0; i < excerpt_.context && begin > shown_to_; ++i) {
    const std::size_t newline = begin < 2 ? std::string_view::npos : text_.rfind('\n', begin - 2);
    begin = newline == std::string_view::npos ? 0 : newline + 1;
  }
  return std::max(begin, std::min(shown_to_, line_begin));
}

wire::SearchLine ExcerptWriter::line_at(std::size_t begin, Role role, std::size_t focus) {
  const std::size_t end = std::min(text_.find('\n', begin), text_.size());
  number_ += count_newlines(text_.substr(counted_, begin - counted_));
  counted_ = begin;
  wire::SearchLine line = cut_line(text_.substr(begin, end - begin), focus - std::min(focus, begin),
                                   excerpt_.most_line_bytes);
  line.line = number_;
  line.is_context = static_cast<std::uint8_t>(role);
  return line;
}

bool ExcerptWriter::append(std::vector<wire::SearchLine> group) {
  std::size_t cost = 0;
  for (const wire::SearchLine& line : group)
    cost += line.text.size() + kLineOverhead;
  if (cost > room_ && !lines_.empty()) return false;
  room_ -= std::min(cost, room_);
  std::move(group.begin(), group.end(), std::back_inserter(lines_));
  return true;
}

bool ExcerptWriter::take(const Match& match) {
  constexpr std::size_t kMostMatchLines = 200;
  std::vector<wire::SearchLine> group;
  const auto next_line = [this](std::size_t at) { return text_.find('\n', at) + 1; };
  for (std::size_t at = begin_of_context(match.line_begin); at < match.line_begin;
       at = next_line(at)) {
    group.push_back(line_at(at, Role::Context, at));
  }
  std::size_t at = match.line_begin;
  for (std::size_t i = 0; i < kMostMatchLines; ++i) {
    group.push_back(line_at(at, i == 0 ? Role::Match : Role::MoreOfMatch, match.begin));
    const std::size_t newline = text_.find('\n', at);
    if (newline >= match.line_end || newline == std::string_view::npos) break;
    at = newline + 1;
  }
  if (!append(std::move(group))) return false;
  ++taken_;
  shown_to_ = std::min(match.line_end + 1, text_.size());
  after_left_ = excerpt_.context;
  return true;
}

void ExcerptWriter::take_after(std::size_t limit) {
  while (after_left_ > 0 && shown_to_ < limit && !is_full_) {
    const std::size_t begin = shown_to_;
    if (!append({line_at(begin, Role::Context, begin)})) {
      is_full_ = true;
      return;
    }
    shown_to_ = std::min(text_.find('\n', begin), text_.size() - 1) + 1;
    --after_left_;
  }
}

}  // namespace

FileCount count_matches(int fd, const Matcher& matcher, LineWindow& window,
                        const Deadline& deadline) {
  FileCount result;
  window.start(fd, size_for(matcher));
  std::size_t kept = 0;
  for (bool is_first = true;; is_first = false) {
    const LineWindow::Block block = window.next(kept);
    // The overlap of a cut line is searched again: nothing was found in it.
    std::string_view text = block.text;
    result.bytes += text.size() - kept;
    if (is_first && is_binary(text)) {
      result.is_binary = true;
      return result;
    }
    if (text.empty()) return result;
    if (is_first && text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
    kept = 0;
    Matcher::Cursor cursor(matcher, text);
    std::size_t last_end = std::string_view::npos;
    while (const auto match = cursor.next(Matcher::Cursor::Places::Unknown)) {
      ++result.matches;
      last_end = match->line_end;
    }
    if (matcher.is_multiline()) {
      result.is_partial = block.is_cut;
      return result;
    }
    if (block.is_last) return result;
    if (block.is_cut && last_end == text.size()) window.skip_line();
    if (block.is_cut && last_end != text.size()) kept = kCutOverlap;
    if (deadline.has_passed()) {
      result.is_partial = true;
      return result;
    }
  }
}

std::uint64_t take_excerpt(int fd, const Matcher& matcher, LineWindow& window,
                           const Excerpt& excerpt, ExcerptLines out) {
  window.start(fd, size_for(matcher));
  ExcerptWriter writer(matcher, excerpt, out);
  std::size_t kept = 0;
  bool is_overlap = false;  // the kept bytes are searched again: nothing was found in them
  for (bool is_first = true;; is_first = false) {
    LineWindow::Block block = window.next(kept);
    if (block.text.empty()) break;
    if (is_overlap) block.fresh = 0;
    if (is_first && block.text.starts_with(kByteOrderMark))
      block.text.remove_prefix(kByteOrderMark.size());
    if (!writer.feed(block) || matcher.is_multiline() || block.is_last) break;
    const bool skips = block.is_cut && writer.ended_inside_match();
    is_overlap = block.is_cut && !skips;
    kept = is_overlap ? kCutOverlap : writer.wanted_again();
    if (skips) kept = 0;
    writer.leave(kept);
    if (!skips) continue;
    window.skip_line();
    writer.line_skipped();
  }
  return writer.taken();
}

}  // namespace nutshell::init::search
