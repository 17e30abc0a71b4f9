// Recognises lines of stack traces in logs, whatever language printed them, and tells the program's
// own frames from those of its libraries.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace nutshell::compaction {

// "    at app.Cart.pay(Cart.java:8)", `  File "a.py", line 3, in f`, "#0 /srv/a.php(12): pay()"
bool is_trace_frame(std::string_view line);

// A frame of a language's runtime or of an installed package.
bool is_library_frame(std::string_view line);

// "Caused by: java.io.IOException: x", "The above exception was the direct cause …"
bool is_trace_cause(std::string_view line);

// Lines of a trace that are kept: its messages, its causes, and the first frame of the program
// itself below each of them (in Python the last, since it lists the outermost call first).
struct TraceSummary {
  std::vector<std::string_view> lines;
  std::size_t left_out = 0;
};

TraceSummary summary_of_trace(const std::vector<std::string_view>& lines);

}  // namespace nutshell::compaction
