#include "compaction/trace_lines.h"

#include <algorithm>
#include <array>

#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

template <std::size_t Count>
bool holds_any(std::string_view line, const std::array<std::string_view, Count>& parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return contains(line, part); });
}

// "#0 /srv/a.php(12): pay()", "#12 0x00007f in main () at a.c:3"
bool is_numbered_frame(std::string_view text) {
  if (!take_prefix(text, "#")) return false;
  return take_number(text).has_value() && text.starts_with(' ');
}

bool is_python_frame(std::string_view text) {
  return text.starts_with("File \"") && contains(text, "\", line ");
}

// The lines of one trace between two messages: of its frames one is kept.
struct FrameRun {
  std::size_t first_own = 0;  // its index + 1; 0: none yet
  std::size_t first = 0;
  bool is_python = false;
};

}  // namespace

bool is_trace_frame(std::string_view line) {
  const auto text = trim(line);
  if (text.empty()) return false;
  const bool is_indented = indent_of(line) > 0;
  if (is_python_frame(text) || is_numbered_frame(text)) return true;
  if (text.starts_with("at ")) return is_indented || contains(text, "(");
  if (!is_indented) return false;
  if (text.starts_with("from ") && contains(text, ":in ")) return true;
  if (text.starts_with("... ") && text.ends_with(" more")) return true;
  return contains(text, ".go:") && contains(text, " +0x");
}

bool is_library_frame(std::string_view line) {
  constexpr std::array<std::string_view, 34> kLibraries = {
      "node_modules/",   "node:",
      "internal/",       "<anonymous>",
      "site-packages/",  "dist-packages/",
      "/lib/python",     "<frozen ",
      " java.",          " javax.",
      " jdk.",           " sun.",
      "java.base/",      " org.springframework.",
      " org.apache.",    " io.netty.",
      " org.hibernate.", " com.sun.",
      " reactor.",       " kotlin.",
      " scala.",         "/gems/",
      "/ruby/",          "/vendor/",
      "/go/src/",        "/libexec/src/",
      "/pkg/mod/",       "/usr/lib/",
      "/rustc/",         " core::",
      " std::",          " System.",
      " Microsoft.",     "... "};
  return holds_any(line, kLibraries);
}

bool is_trace_cause(std::string_view line) {
  const auto text = trim(line);
  constexpr std::array<std::string_view, 7> kCauses = {"Caused by:",
                                                       "caused by:",
                                                       "Suppressed:",
                                                       "[cause]:",
                                                       "During handling of the above",
                                                       "The above exception was",
                                                       "---> "};
  return std::any_of(kCauses.begin(), kCauses.end(),
                     [&](std::string_view start) { return text.starts_with(start); });
}

TraceSummary summary_of_trace(const std::vector<std::string_view>& lines) {
  std::vector<bool> is_kept(lines.size(), false);
  FrameRun run;
  const auto end_run = [&] {
    const std::size_t chosen = run.first_own != 0 ? run.first_own : run.first;
    if (chosen != 0) is_kept[chosen - 1] = true;
    const bool has_code = run.is_python && chosen != 0 && chosen < lines.size();
    if (has_code && !is_trace_frame(lines[chosen])) is_kept[chosen] = true;
    run = {};
  };
  for (std::size_t at = 0; at < lines.size(); ++at) {
    if (!is_trace_frame(lines[at])) {
      // Python prints the code below each frame.
      if (run.is_python && indent_of(lines[at]) >= 4) continue;
      end_run();
      is_kept[at] = !is_blank(lines[at]);
      continue;
    }
    run.is_python = run.is_python || is_python_frame(trim(lines[at]));
    if (run.first == 0 || run.is_python) run.first = at + 1;
    const bool is_own = !is_library_frame(lines[at]);
    if (is_own && (run.first_own == 0 || run.is_python)) run.first_own = at + 1;
  }
  end_run();
  TraceSummary summary;
  for (std::size_t at = 0; at < lines.size(); ++at) {
    if (is_kept[at])
      summary.lines.push_back(lines[at]);
    else if (!is_blank(lines[at]))
      ++summary.left_out;
  }
  return summary;
}

}  // namespace nutshell::compaction
