// A place where tests kill the process: the process kills itself at the fault point that the
// variable NUTSHELL_TEST_FAULT names. With ":stop" behind the name it stops there, the first time,
// until the test sends SIGCONT. Whoever can set the variable can kill the process anyway.
#pragma once

#include <string_view>

namespace nutshell {

void fault_point(std::string_view name);

}  // namespace nutshell
