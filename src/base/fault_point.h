// A place where a test kills the process: what NUTSHELL_TEST_FAULT names, and nothing where it is
// not set. With ":stop" behind the name the process stops there, the first time, until the test
// lets it go on, having killed somebody else. Whoever can set it can kill the process anyway.
#pragma once

#include <string_view>

namespace nutshell {

void fault_point(std::string_view name);

}  // namespace nutshell
