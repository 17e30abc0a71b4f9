#include "compaction/line_scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "compaction/body_line.h"
#include "compaction/clean.h"
#include "compaction/line_template.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

constexpr std::size_t kMostDistinct = 4096;
// Only the two ends of a longer line are read.
constexpr std::size_t kLongestScanned = 64U << 10U;

// Returns the line as shown: a view of `raw`, or of `storage` if it had to be changed.
std::string_view readable(std::string_view raw, std::string& storage) {
  if (raw.size() > kLongestScanned) {
    const std::size_t part = kLongestScanned / 2;
    storage = clean_line(fmt::format("{}…({} bytes)…{}", raw.substr(0, part), raw.size() - 2 * part,
                                     raw.substr(raw.size() - part)));
    return storage;
  }
  if (!needs_cleaning(raw)) return raw;
  storage = clean_line(raw);
  return storage;
}

// pino and bunyan write levels as numbers: 50 and 60 are errors.
LineKind kind_of_record(std::string_view line) {
  constexpr std::string_view kLevel = "\"level\":";
  const auto at = line.find(kLevel);
  if (at == std::string_view::npos) return LineKind::Plain;
  auto rest = trim_left(line.substr(at + kLevel.size()));
  const auto level = take_number(rest);
  if (!level || *level < 40) return LineKind::Plain;
  return *level >= 50 ? LineKind::Error : LineKind::Warning;
}

}  // namespace

void LineScan::add(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto raw = take_line(bytes);
    std::string storage;
    add_line(raw, readable(raw, storage));
  }
}

void LineScan::add(Lines clean) {
  for (const auto line : clean) {
    std::string storage;
    add_line(line, line.size() > kLongestScanned ? readable(line, storage) : line);
  }
}

// The line as captured, and as shown.
void LineScan::add_line(std::string_view raw, std::string_view line) {
  tail_[lines_ % kTail] = raw;
  ++lines_;
  if (head_.size() < kHead) head_.push_back({lines_, shortened(line)});
  if (line.empty()) return;
  ++filled_;
  if (is_log_line(line)) ++log_lines_;
  auto look = look_at(line);
  if (look.kind == LineKind::Plain && line.front() == '{') look.kind = kind_of_record(line);
  if (look.kind == LineKind::Plain) return count_in(kinds_, template_of(line), line, 0);
  const auto key = std::hash<std::string_view>{}(without_time(line));
  count_in(look.kind == LineKind::Error ? errors_ : warnings_, key, line, look.at);
}

void LineScan::count_in(Distinct& distinct, std::uint64_t key, std::string_view line,
                        std::size_t focus) {
  const auto found = distinct.known.find(key);
  if (found != distinct.known.end()) {
    ++distinct.lines[found->second].count;
    return;
  }
  if (distinct.lines.size() == kMostDistinct) {
    ++distinct.unlisted;
    return;
  }
  distinct.known.emplace(key, distinct.lines.size());
  distinct.lines.push_back({lines_, shortened(line, focus)});
}

std::vector<SeenLine> LineScan::tail() const {
  std::vector<SeenLine> tail;
  const std::size_t first = lines_ > kTail ? lines_ - kTail : 0;
  for (std::size_t at = first; at < lines_; ++at) {
    std::string storage;
    tail.push_back({at + 1, shortened(readable(tail_[at % kTail], storage))});
  }
  return tail;
}

}  // namespace nutshell::compaction
