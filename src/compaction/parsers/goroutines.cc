#include "compaction/parsers/goroutines.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "compaction/parsers/stack_frames.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

struct Goroutine {
  std::string_view number;
  std::string_view state;           // "chan receive, 3 minutes"
  std::vector<std::string> frames;  // "main.worker a.go:4"
  std::string_view top;             // function of the first frame, whoever wrote it
};

// "goroutine 6 [chan receive]:"
bool take_heading(std::string_view line, Goroutine& goroutine) {
  if (!take_prefix(line, "goroutine ")) return false;
  const auto open = line.find(" [");
  const auto close = line.rfind("]:");
  if (open == std::string_view::npos || close == std::string_view::npos || close < open)
    return false;
  goroutine.number = line.substr(0, line.find(' '));
  goroutine.state = line.substr(open + 2, close - open - 2);
  return true;
}

// "main.(*Ring).Push(0xc000012345, {0x1, 0x2})" without its arguments; "created by main.main in
// goroutine 1" stays whole.
std::string_view function_of(std::string_view line) {
  if (line.starts_with("created by ") || !line.ends_with(')')) return line;
  std::size_t depth = 0;
  for (std::size_t at = line.size(); at-- > 0;) {
    if (line[at] == ')') ++depth;
    if (line[at] == '(' && --depth == 0) return line.substr(0, at);
  }
  return line;
}

// Other lines may stand between a function and its place: what another program printed.
bool is_function(std::string_view line) {
  return line.starts_with("created by ") || trim_right(line).ends_with(')');
}

class DumpReader {
 public:
  GoroutineDump read(Lines lines) {
    for (const auto line : lines)
      take_line(line);
    end_goroutine();
    write();
    return std::move(dump_);
  }

 private:
  void take_line(std::string_view line) {
    Goroutine next;
    if (take_heading(line, next)) {
      end_goroutine();
      current_ = std::move(next);
    } else if (const auto frame = go_frame(line)) {
      take_place(*frame);
    } else if (is_function(line)) {
      end_function();
      function_ = function_of(trim(line));
    } else if (!is_blank(line)) {
      current_.frames.emplace_back(trim(line));
    }
  }

  void take_place(const Frame& frame) {
    if (current_.top.empty()) current_.top = function_;
    if (frame.is_users)
      add_frame(fmt::format("{} {}", function_, to_text(frame.where)));
    else
      ++dump_.frames_left_out;
    if (frame.is_users && dump_.where.file.empty()) dump_.where = frame.where;
    function_ = {};
  }

  // Leaves out a frame that equals one of the last: recursion repeats a few frames over and over.
  void add_frame(std::string text) {
    auto& frames = current_.frames;
    const auto recent = frames.end() - std::min<std::ptrdiff_t>(4, std::ssize(frames));
    if (std::find(recent, frames.end(), text) == frames.end())
      frames.push_back(std::move(text));
    else
      ++dump_.frames_left_out;
  }

  // Keeps a line that no place follows, such as a further panic or "...additional frames
  // elided...".
  void end_function() {
    if (!function_.empty()) current_.frames.emplace_back(function_);
    function_ = {};
  }

  void end_goroutine() {
    end_function();
    const bool is_none = current_.number.empty() && current_.frames.empty();
    if (is_none) return;
    if (current_.frames.empty()) current_.frames.emplace_back(current_.top);
    const auto key = fmt::format("{}\n{}", current_.state, fmt::join(current_.frames, "\n"));
    const auto [found, is_new] = known_.emplace(key, groups_.size());
    if (is_new) groups_.emplace_back();
    groups_[found->second].push_back(std::move(current_));
    current_ = {};
  }

  void write() {
    for (const auto& group : groups_) {
      const auto& first = group.front();
      if (!first.number.empty()) {
        std::string numbers;
        for (const auto& goroutine : group)
          numbers.append(numbers.empty() ? "" : " ").append(goroutine.number);
        dump_.lines.push_back(
            fmt::format("goroutine{} {} [{}]{}:", group.size() > 1 ? "s" : "", numbers, first.state,
                        group.size() > 1 ? fmt::format(" ×{}", group.size()) : ""));
      }
      for (const auto& frame : first.frames)
        dump_.lines.push_back(first.number.empty() ? frame : " " + frame);
    }
  }

  GoroutineDump dump_;
  Goroutine current_;
  std::string_view function_;  // waits for its place
  std::map<std::string, std::size_t> known_;
  std::vector<std::vector<Goroutine>> groups_;
};

}  // namespace

GoroutineDump read_goroutines(Lines lines) {
  return DumpReader().read(lines);
}

}  // namespace nutshell::compaction
