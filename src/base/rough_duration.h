// A duration for people to read: its two largest units.
#pragma once

#include <chrono>
#include <string>

namespace nutshell {

// "6d 23h", "2h 5m", "3m 20s", "59s"; "0s" for less than a second.
std::string rough_duration(std::chrono::milliseconds duration);

}  // namespace nutshell
