// A protection of a sandbox: its name, its strength, and the mechanism that keeps it.
#pragma once

#include <string>
#include <vector>

#include "core/field.h"

namespace nutshell {

enum class Strength {
  Hard,     // the kernel enforces it
  Watched,  // a watcher measures every few milliseconds and kills
  Missing,  // not kept
};

template <>
inline constexpr std::array<std::string_view, 3> kWords<Strength>{"hard", "watched", "missing"};

struct Protection {
  std::string name;  // "memory", "seccomp", "network", …
  Strength strength = Strength::Missing;
  std::string by;   // "cgroup v1 memory", "RLIMIT_NPROC in a user namespace"
  std::string fix;  // how to make it hard; empty if it is

  static constexpr NounInfo kNoun{"Protection", "One protection of a sandbox.", Direction::Given};
  static void describe(auto&& field, auto& protection) {
    field({.number = 1, .name = "name", .help = "the word that `require` takes"}, protection.name);
    field({.number = 2,
           .name = "strength",
           .help = "hard: the kernel enforces it; watched: a process looks every few milliseconds "
                   "and kills; missing: it is not kept"},
          protection.strength);
    field({.number = 3, .name = "by", .help = "what keeps it"}, protection.by);
    field({.number = 4, .name = "fix", .help = "why it is not hard, and what to do about it"},
          protection.fix);
  }
};

inline const char* to_string(Strength strength) {
  return word_for(strength).data();
}

using Protections = std::vector<Protection>;

}  // namespace nutshell
