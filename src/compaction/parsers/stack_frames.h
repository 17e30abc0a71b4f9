// Reads lines of stack traces, and tells the user's own code from libraries and test runners.
#pragma once

#include <optional>
#include <string_view>

#include "compaction/facts.h"

namespace nutshell::compaction {

struct Frame {
  Location where;
  bool is_users = false;  // not the language's, the runner's or an installed package's
};

// "    at fn (src/a.js:3:9)" and "    at src/a.js:3:9"
std::optional<Frame> node_frame(std::string_view line);
// "\tat x.CalcTest.wrong(CalcTest.java:8)", also without the "at"
std::optional<Frame> java_frame(std::string_view line);
// "	/home/me/a.go:12 +0x1d" below a function of a goroutine
std::optional<Frame> go_frame(std::string_view line);
// `  File "a.py", line 3, in f`
std::optional<Frame> python_frame(std::string_view line);

bool is_users_python_file(std::string_view file);
bool is_users_node_file(std::string_view file);

}  // namespace nutshell::compaction
