// The words with which init begins the detail of a command that exited and left processes running.
#pragma once

#include <string_view>

namespace nutshell {

inline constexpr std::string_view kLeftRunning = "left running: ";

}  // namespace nutshell
