#include <algorithm>
#include <array>
#include <cstdlib>

#include "compaction/compactor.h"
#include "entry_points.h"

namespace nutshell::fuzz {
namespace {

using compaction::Captured;
using compaction::Rendering;
using compaction::RenderOptions;

// The first byte picks a command, so that every parser that checks the command is reached.
constexpr std::array<const char*, 36> kCommands = {"",
                                                   "cargo test",
                                                   "cargo build",
                                                   "go test ./...",
                                                   "go vet",
                                                   "pytest -v",
                                                   "python3 a.py",
                                                   "npx jest",
                                                   "npx vitest run",
                                                   "npx mocha",
                                                   "node --test",
                                                   "npx tsc",
                                                   "npx eslint .",
                                                   "ctest",
                                                   "./tests",
                                                   "mvn test",
                                                   "gradle test",
                                                   "javac A.java",
                                                   "make",
                                                   "ninja",
                                                   "cmake -B b",
                                                   "gcc -c a.c",
                                                   "git status",
                                                   "git diff",
                                                   "git log",
                                                   "git blame a.c",
                                                   "npm install",
                                                   "apt install x",
                                                   "grep -rn x .",
                                                   "find .",
                                                   "docker ps",
                                                   "kubectl get pods",
                                                   "cargo build && pytest",
                                                   "tox",
                                                   "flake8 src",
                                                   "cat a.py"};

// Checks that hold for any input.
void check(const Captured& captured, const Rendering& rendering) {
  const bool shows_status = captured.ending.exit_code == 0 || rendering.text.starts_with("exit 3");
  const bool has_control = std::any_of(rendering.text.begin(), rendering.text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t';
  });
  if (!shows_status || has_control) std::abort();
}

}  // namespace

void fuzz_compaction(std::string_view input) {
  if (input.size() < 2) return;
  Captured captured;
  captured.command = kCommands[static_cast<unsigned char>(input[0]) % kCommands.size()];
  captured.ending.outcome = Outcome::Exited;
  captured.ending.exit_code = (input[1] & 1) != 0 ? 3 : 0;
  captured.recall_id = "o1a2b";
  const auto bytes = input.substr(2);
  const auto half = bytes.find('\0');
  captured.output = bytes.substr(0, half);
  if (half != std::string_view::npos) captured.error = bytes.substr(half + 1);
  RenderOptions options;
  options.max_tokens = (input[1] & 2) != 0 ? 200 : 6000;
  check(captured, compaction::render(captured, options));
  options.style = compaction::Style::Native;
  (void)compaction::render(captured, options);
}

}  // namespace nutshell::fuzz
