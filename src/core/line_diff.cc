#include "core/line_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <optional>

namespace nutshell {
namespace {

using Numbers = std::vector<std::uint32_t>;  // equal numbers are equal lines

// The furthest old line that a number of changes can reach, by diagonal; -1: none.
class Reach {
 public:
  explicit Reach(long most) : most_(most), furthest_(static_cast<std::size_t>(2 * most + 3), -1) {}

  long& operator[](long diagonal) {
    return furthest_[static_cast<std::size_t>(diagonal + most_ + 1)];
  }
  // Advances by one change, within a box of `width` times `height`.
  long next(long diagonal, long width, long height) {
    const long left = (*this)[diagonal - 1];
    const long above = (*this)[diagonal + 1];
    const long right = left >= 0 && left < width ? left + 1 : -1;
    const long down = above >= 0 && above - diagonal <= height ? above : -1;
    return std::max(right, down);
  }

 private:
  long most_;
  std::vector<long> furthest_;
};

struct Box {
  long left = 0, right = 0;  // of the old lines
  long top = 0, bottom = 0;  // of the new lines

  [[nodiscard]] long width() const { return right - left; }
  [[nodiscard]] long height() const { return bottom - top; }
};
struct Point {
  long x = 0;
  long y = 0;
};

// Myers' divide and conquer in linear space. A search that takes too long is cut where it got
// furthest, as a shorter difference is not worth the wait.
class Comparison {
 public:
  Comparison(const Numbers& old_lines, const Numbers& new_lines, std::uint64_t most_steps)
      : old_(old_lines),
        new_(new_lines),
        steps_left_(most_steps),
        is_removed_(old_lines.size()),
        is_added_(new_lines.size()) {}

  // Whether each line changed; valid after run().
  [[nodiscard]] const std::vector<bool>& removed() const { return is_removed_; }
  [[nodiscard]] const std::vector<bool>& added() const { return is_added_; }

  void run() {
    std::vector<Box> boxes = {
        {0, static_cast<long>(old_.size()), 0, static_cast<long>(new_.size())}};
    while (!boxes.empty()) {
      const Box box = trimmed(boxes.back());
      boxes.pop_back();
      const bool is_plain = box.width() == 0 || box.height() == 0 || steps_left_ == 0;
      const auto point = is_plain ? std::nullopt : find_split(box);
      if (!point) {
        replace(box);
        continue;
      }
      boxes.push_back({box.left, box.left + point->x, box.top, box.top + point->y});
      boxes.push_back({box.left + point->x, box.right, box.top + point->y, box.bottom});
    }
  }

 private:
  static constexpr long kMostChanges = 512;  // in one search

  [[nodiscard]] bool equal(long x, long y) const {
    return old_[static_cast<std::size_t>(x)] == new_[static_cast<std::size_t>(y)];
  }

  [[nodiscard]] Box trimmed(Box box) const {
    while (box.width() > 0 && box.height() > 0 && equal(box.left, box.top))
      ++box.left, ++box.top;
    while (box.width() > 0 && box.height() > 0 && equal(box.right - 1, box.bottom - 1))
      --box.right, --box.bottom;
    return box;
  }

  void replace(const Box& box) {
    std::fill(is_removed_.begin() + box.left, is_removed_.begin() + box.right, true);
    std::fill(is_added_.begin() + box.top, is_added_.begin() + box.bottom, true);
  }

  bool spend(long steps) {
    const auto spent = static_cast<std::uint64_t>(steps);
    steps_left_ = spent < steps_left_ ? steps_left_ - spent : 0;
    return steps_left_ > 0;
  }

  // Takes one more change from the start (or, mirrored, from the end) on this diagonal, and all
  // equal lines that follow it.
  enum class From { Start, End };
  template <From from>
  bool advance(const Box& box, Reach& reach, long diagonal) {
    long x = reach.next(diagonal, box.width(), box.height());
    long run = 0;
    for (long y = x - diagonal; x >= 0 && x < box.width() && y < box.height(); ++x, ++y, ++run) {
      const bool is_equal = from == From::Start ? equal(box.left + x, box.top + y)
                                                : equal(box.right - 1 - x, box.bottom - 1 - y);
      if (!is_equal) break;
    }
    reach[diagonal] = x;
    return spend(1 + run);
  }

  // Finds where the way from the start meets the way from the end; nullopt once the steps are used
  // up.
  std::optional<Point> find_split(const Box& box) {
    const long limit = std::min(kMostChanges, (box.width() + box.height() + 1) / 2);
    const long delta = box.width() - box.height();
    Reach forward(limit);
    Reach backward(limit);
    forward[1] = backward[1] = 0;
    for (long changes = 0; changes <= limit; ++changes) {
      for (long k = -changes; k <= changes; k += 2) {
        if (!advance<From::Start>(box, forward, k)) return std::nullopt;
        if (delta % 2 == 0 || std::abs(delta - k) >= changes) continue;
        if (meets(box, forward[k], backward[delta - k])) return Point{forward[k], forward[k] - k};
      }
      for (long k = -changes; k <= changes; k += 2) {
        if (!advance<From::End>(box, backward, k)) return std::nullopt;
        if (delta % 2 != 0 || std::abs(delta - k) > changes) continue;
        if (meets(box, backward[k], forward[delta - k])) return from_end(box, backward[k], k);
      }
    }
    return furthest(box, forward, backward, limit);
  }

  static bool meets(const Box& box, long from_start, long from_end) {
    return from_start >= 0 && from_end >= 0 && from_start + from_end >= box.width();
  }
  static Point from_end(const Box& box, long x, long diagonal) {
    return {box.width() - x, box.height() - (x - diagonal)};
  }

  static Point furthest(const Box& box, Reach& forward, Reach& backward, long limit) {
    Point best;
    long most = 0;
    for (long k = -limit; k <= limit; ++k) {
      const long ahead = 2 * forward[k] - k;
      const long back = 2 * backward[k] - k;
      if (forward[k] >= 0 && ahead > most) most = ahead, best = {forward[k], forward[k] - k};
      if (backward[k] >= 0 && back > most) most = back, best = from_end(box, backward[k], k);
    }
    return best;
  }

  const Numbers& old_;
  const Numbers& new_;
  std::uint64_t steps_left_;
  std::vector<bool> is_removed_;
  std::vector<bool> is_added_;
};

using Lines = std::vector<std::string_view>;

// Sorts instead of hashing, so that no input is slow because its lines collide.
std::pair<Numbers, Numbers> number_lines(const Lines& old_lines, const Lines& new_lines) {
  const std::size_t count = old_lines.size() + new_lines.size();
  const auto line = [&](std::size_t index) {
    return index < old_lines.size() ? old_lines[index] : new_lines[index - old_lines.size()];
  };
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return line(a) < line(b); });
  std::pair<Numbers, Numbers> numbers{Numbers(old_lines.size()), Numbers(new_lines.size())};
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0 && line(order[i]) != line(order[i - 1])) ++number;
    const std::size_t index = order[i];
    if (index < old_lines.size()) {
      numbers.first[index] = number;
    } else {
      numbers.second[index - old_lines.size()] = number;
    }
  }
  return numbers;
}

std::vector<LineChange> collect(const Comparison& done, std::size_t offset) {
  std::vector<LineChange> changes;
  std::size_t x = 0;
  std::size_t y = 0;
  while (x < done.removed().size() || y < done.added().size()) {
    LineChange change{x, 0, y, 0};
    for (; x < done.removed().size() && done.removed()[x]; ++x)
      ++change.old_count;
    for (; y < done.added().size() && done.added()[y]; ++y)
      ++change.new_count;
    if (change.old_count == 0 && change.new_count == 0) {
      ++x, ++y;
      continue;
    }
    change.old_first += offset;
    change.new_first += offset;
    changes.push_back(change);
  }
  return changes;
}

void append_line(std::string& text, char mark, std::string_view line) {
  text += mark;
  text += line;
  if (!line.ends_with('\n')) text += "\n\\ No newline at end of file\n";
}

// Returns "12,3"; an empty range is named by the line before it.
std::string place(std::size_t first, std::size_t count) {
  if (count == 1) return std::to_string(first + 1);
  return fmt::format("{},{}", count == 0 ? first : first + 1, count);
}

struct Sides {
  const Lines& before;
  const Lines& after;
};

// Writes the changes [first, last), which are so close that they share their context.
void append_hunk(std::string& text, const Sides& sides, const LineChange* first,
                 const LineChange* last, std::size_t context) {
  const std::size_t lead = std::min(context, first->old_first);
  const LineChange& end = *(last - 1);
  const std::size_t old_end = end.old_first + end.old_count;
  const std::size_t tail = std::min(context, sides.before.size() - old_end);
  const std::size_t old_start = first->old_first - lead;
  const std::size_t new_start = first->new_first - lead;
  text += fmt::format("@@ -{} +{} @@\n", place(old_start, old_end + tail - old_start),
                      place(new_start, end.new_first + end.new_count + tail - new_start));
  std::size_t x = old_start;
  for (const LineChange* change = first; change != last; ++change) {
    for (; x < change->old_first; ++x)
      append_line(text, ' ', sides.before[x]);
    for (; x < change->old_first + change->old_count; ++x)
      append_line(text, '-', sides.before[x]);
    for (std::size_t y = 0; y < change->new_count; ++y)
      append_line(text, '+', sides.after[change->new_first + y]);
  }
  for (; x < old_end + tail; ++x)
    append_line(text, ' ', sides.before[x]);
}

}  // namespace

std::vector<std::string_view> split_lines(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const std::size_t newline = text.find('\n');
    const std::size_t size = newline == std::string_view::npos ? text.size() : newline + 1;
    lines.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return lines;
}

std::vector<LineChange> diff_lines(const Lines& old_lines, const Lines& new_lines,
                                   std::uint64_t most_steps) {
  const auto [differing, ignored] =
      std::mismatch(old_lines.begin(), old_lines.end(), new_lines.begin(), new_lines.end());
  const auto same = static_cast<std::size_t>(differing - old_lines.begin());
  std::size_t old_end = old_lines.size();
  std::size_t new_end = new_lines.size();
  while (old_end > same && new_end > same && old_lines[old_end - 1] == new_lines[new_end - 1])
    --old_end, --new_end;
  const auto middle = [same](const Lines& lines, std::size_t end) {
    return Lines(lines.begin() + static_cast<long>(same), lines.begin() + static_cast<long>(end));
  };
  const auto numbers = number_lines(middle(old_lines, old_end), middle(new_lines, new_end));
  Comparison comparison(numbers.first, numbers.second, most_steps);
  comparison.run();
  return collect(comparison, same);
}

std::string unified_diff(std::string_view old_text, std::string_view new_text,
                         const DiffOptions& options) {
  const Lines old_lines = split_lines(old_text);
  const Lines new_lines = split_lines(new_text);
  const auto changes = diff_lines(old_lines, new_lines, options.most_steps);
  if (changes.empty()) return {};
  std::string text = fmt::format("--- {}\n+++ {}\n", options.old_name, options.new_name);
  const LineChange* first = changes.data();
  const LineChange* const end = first + changes.size();
  while (first != end) {
    const LineChange* last = first + 1;
    const auto is_near = [&](const LineChange& next) {
      const LineChange& before = *(&next - 1);
      return next.old_first - (before.old_first + before.old_count) <= 2 * options.context;
    };
    while (last != end && is_near(*last))
      ++last;
    append_hunk(text, {old_lines, new_lines}, first, last, options.context);
    first = last;
  }
  return text;
}

}  // namespace nutshell
