// A protection of a sandbox: what it is called, how strongly it is kept, and by what.
#pragma once

#include <string>
#include <vector>

namespace nutshell {

enum class Strength {
  Hard,     // the kernel enforces it
  Watched,  // something looks every few milliseconds and kills
  Missing,  // not kept
};

struct Protection {
  std::string name;  // "memory", "seccomp", "network", …: the word --require takes
  Strength strength = Strength::Missing;
  std::string by;   // "cgroup v1 memory", "RLIMIT_NPROC in a user namespace"
  std::string fix;  // empty unless missing or watched: why, and what to do about it
};

inline const char* to_string(Strength strength) {
  switch (strength) {
    case Strength::Hard:
      return "hard";
    case Strength::Watched:
      return "watched";
    case Strength::Missing:
      return "missing";
  }
  return "missing";
}

using Protections = std::vector<Protection>;

}  // namespace nutshell
