#include "compaction/segments.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "compaction/command_words.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

enum class Part : std::uint8_t { Begin, Inside, End };

// A line that only one program prints.
struct Mark {
  std::string_view tool;
  Part part;
  std::string_view start;        // of the line
  std::string_view inside = {};  // also somewhere in it
};

constexpr std::array<Mark, 55> kMarks = {{
    {"pytest", Part::Begin, "====", " test session starts "},
    {"pytest", Part::Inside, "====", " FAILURES "},
    {"pytest", Part::Inside, "====", " ERRORS "},
    {"pytest", Part::Inside, "====", " short test summary info "},
    {"pytest", Part::End, "====", " passed in "},
    {"pytest", Part::End, "====", " failed in "},
    {"pytest", Part::End, "====", " error in "},
    {"pytest", Part::End, "====", " errors in "},
    {"pytest", Part::End, "====", " passed, "},
    {"pytest", Part::End, "====", " failed, "},
    {"cargo", Part::Begin, "   Compiling "},
    {"cargo", Part::Begin, "    Checking "},
    {"cargo", Part::Inside, "    Blocking waiting "},
    {"cargo", Part::Inside, "    Finished "},
    {"cargo", Part::Inside, "     Running "},
    {"cargo", Part::Inside, "   Doc-tests "},
    {"cargo", Part::Inside, "test result: "},
    {"cargo", Part::Inside, "error: could not compile "},
    {"cargo", Part::Inside, "warning: `", " generated "},
    {"cargo", Part::Inside, "error: test failed, to rerun "},
    {"go", Part::Begin, "=== RUN   "},
    {"go", Part::Inside, "--- FAIL: "},
    {"go", Part::Inside, "ok  \t"},
    {"go", Part::Inside, "FAIL\t"},
    {"go", Part::Inside, "?   \t", "[no test files]"},
    {"jest", Part::Inside, "Test Suites: "},
    {"jest", Part::Inside, "Snapshots: "},
    {"jest", Part::End, "Ran all test suites"},
    {"vitest", Part::Begin, " RUN  v"},
    {"vitest", Part::Inside, " Test Files "},
    {"vitest", Part::End, "   Duration  "},
    {"ctest", Part::Begin, "Test project /"},
    {"ctest", Part::Inside, "Total Test time (real) ="},
    {"ctest", Part::Inside, "The following tests FAILED:"},
    {"ctest", Part::End, "Errors while running CTest"},
    {"mvn", Part::Begin, "[INFO] Scanning for projects"},
    {"mvn", Part::Inside, "[INFO] BUILD "},
    {"mvn", Part::Inside, "[INFO] Finished at: "},
    {"gradle", Part::Begin, "> Task :"},
    {"gradle", Part::End, "BUILD SUCCESSFUL in "},
    {"gradle", Part::End, "BUILD FAILED in "},
    {"unittest", Part::Inside, "Ran ", " tests in "},
    {"unittest", Part::End, "FAILED (failures="},
    {"unittest", Part::End, "FAILED (errors="},
    {"git status", Part::Begin, "On branch "},
    {"git diff", Part::Begin, "diff --git "},
    {"rspec", Part::End, "Finished in ", " seconds (files took "},
    {"npm", Part::Begin, "added ", " packages"},
    {"npm", Part::Begin, "up to date, audited "},
    {"pip", Part::Begin, "Collecting "},
    {"pip", Part::Begin, "Requirement already satisfied: "},
    {"pip", Part::End, "Successfully installed "},
    {"eslint", Part::End, "\xe2\x9c\x96 ", " problem"},
    {"mypy", Part::End, "Found ", " source file"},
    {"mypy", Part::End, "Success: no issues found in "},
}};

// Programs that run others and say which.
struct Announcement {
  CommandWords command;
  std::string_view by;
};

bool is_known_program(std::string_view program) {
  constexpr std::array<std::string_view, 40> kPrograms = {
      "pytest",       "cargo",      "go",         "npm",       "npx",           "yarn",
      "pnpm",         "jest",       "vitest",     "mocha",     "tsc",           "eslint",
      "flake8",       "mypy",       "ruff",       "black",     "pylint",        "pyright",
      "ctest",        "cmake",      "ninja",      "mvn",       "gradle",        "rspec",
      "rubocop",      "rake",       "phpunit",    "composer",  "tox",           "coverage",
      "prettier",     "shellcheck", "yamllint",   "stylelint", "golangci-lint", "hadolint",
      "markdownlint", "playwright", "pre-commit", "bandit"};
  return std::find(kPrograms.begin(), kPrograms.end(), program) != kPrograms.end();
}

CommandWords words_of(std::string_view text) {
  auto command = command_words(text);
  auto& words = command.words;
  const bool is_module = words.size() > 2 && words[0].starts_with("python") && words[1] == "-m";
  if (is_module) words.erase(words.begin(), words.begin() + 2);
  return command;
}

// "py311: commands[0]> pytest -q", "py311 run-test: commands[0] | pytest -q"
std::optional<Announcement> by_tox(std::string_view line) {
  constexpr std::size_t kLongestName = 60;
  const auto at = line.substr(0, kLongestName).find(": commands[");
  if (at == std::string_view::npos) return std::nullopt;
  auto rest = line.substr(at + 11);
  if (!take_number(rest) || !take_prefix(rest, "]")) return std::nullopt;
  if (!take_prefix(rest, "> ") && !take_prefix(rest, " | ")) return std::nullopt;
  return Announcement{words_of(rest), "tox"};
}

// "> name@1.0.0 test", a blank or a line "> jest --ci"
std::optional<Announcement> by_npm(std::string_view line, std::string_view next) {
  if (!line.starts_with("> ") || !next.starts_with("> ")) return std::nullopt;
  auto rest = line.substr(2);
  const auto package = take_word(rest);
  if (package.rfind('@') == std::string_view::npos || rest.empty()) return std::nullopt;
  return Announcement{words_of(next.substr(2)), "npm"};
}

// "nox > pytest -q tests"
std::optional<Announcement> by_nox(std::string_view line) {
  if (!take_prefix(line, "nox > ")) return std::nullopt;
  auto command = words_of(line);
  if (command.words.empty() || !is_known_program(command.words.front())) return std::nullopt;
  return Announcement{std::move(command), "nox"};
}

// "flake8.....................Failed", then "- hook id: flake8"
std::optional<Announcement> by_pre_commit(std::string_view line, std::string_view next) {
  constexpr std::string_view kHook = "- hook id: ";
  if (!next.starts_with(kHook) || !contains(line, "...")) return std::nullopt;
  return Announcement{words_of(next.substr(kHook.size())), "pre-commit"};
}

// "pytest -q" as make echoes it, "+ pytest -q" as `sh -x` does
std::optional<Announcement> by_echo(std::string_view line) {
  const bool is_traced = take_prefix(line, "+ ");
  if (line.size() > 400 || line.empty() || line.front() == ' ' || line.ends_with(':'))
    return std::nullopt;
  auto rest = line;
  const auto first = take_word(rest);
  const auto name = first.substr(first.rfind('/') + 1);
  const bool is_python = name.starts_with("python") && rest.starts_with("-m ");
  const bool is_named = is_known_program(name) && (is_traced || rest.empty() ||
                                                   rest.starts_with('-') || !contains(rest, ": "));
  if (!is_python && !is_named) return std::nullopt;
  if (!is_traced && (contains(line, "...") || contains(line, " version "))) return std::nullopt;
  return Announcement{words_of(line), is_traced ? "the shell" : "make"};
}

std::array<bool, 256> first_bytes() {
  std::array<bool, 256> firsts{};
  for (const Mark& mark : kMarks)
    firsts.at(static_cast<unsigned char>(mark.start.front())) = true;
  return firsts;
}

const Mark* mark_of(std::string_view line) {
  static const std::array<bool, 256> kFirsts = first_bytes();
  if (!kFirsts.at(static_cast<unsigned char>(line.front()))) return nullptr;
  for (const Mark& mark : kMarks) {
    if (!line.starts_with(mark.start)) continue;
    if (mark.inside.empty() || contains(line, mark.inside)) return &mark;
  }
  return nullptr;
}

// One program that is known to run no others may print what others print: `git log -p` a diff.
bool may_run_others(std::span<const CommandWords> commands) {
  if (commands.size() != 1 || commands[0].words.empty()) return true;
  const auto& program = commands[0].words.front();
  constexpr std::array<std::string_view, 6> kRunners = {"npm", "yarn", "pnpm",
                                                        "tox", "rake", "pre-commit"};
  if (std::find(kRunners.begin(), kRunners.end(), program) != kRunners.end()) return true;
  return !is_known_program(program) && program != "git" && program != "kubectl" && program != "cat";
}

class SegmentFinder {
 public:
  explicit SegmentFinder(const SegmentInput& input)
      : input_(input), sees_marks_(may_run_others(input.commands)) {
    for (const CommandWords& command : input.commands) {
      const auto& words = command.words;
      echoes_ = echoes_ ||
                (!words.empty() && (words[0] == "make" || words[0] == "gmake" || words[0] == "sh" ||
                                    words[0] == "bash" || words[0].ends_with(".sh")));
    }
  }

  std::vector<Segment> find() {
    begin(0, {}, "the start");
    for (std::size_t at = 0; at < input_.lines.size(); ++at)
      look(at);
    end_at(input_.lines.size());
    name_by_commands();
    return join_small();
  }

 private:
  [[nodiscard]] std::string_view line(std::size_t at) const {
    return at < input_.lines.size() ? input_.lines[at] : std::string_view();
  }

  [[nodiscard]] std::optional<Announcement> announcement(std::size_t at) const {
    const auto text = line(at);
    if (auto found = by_tox(text)) return found;
    if (auto found = by_npm(text, line(at + 1))) return found;
    if (auto found = by_nox(text)) return found;
    if (auto found = by_pre_commit(text, line(at + 1))) return found;
    return echoes_ ? by_echo(text) : std::nullopt;
  }

  void look(std::size_t at) {
    const auto text = line(at);
    if (text.empty()) return;
    if (const auto announced = announcement(at); announced && !announced->command.words.empty()) {
      end_at(at);
      begin(at, announced->command, fmt::format("{} announced it", announced->by));
      tool_ = {};
      return;
    }
    const Mark* mark = sees_marks_ ? mark_of(text) : nullptr;
    if (mark == nullptr) return;
    const bool is_other = tool_ != mark->tool;
    const bool is_again = !is_other && has_ended_;
    if ((is_other || is_again) && (has_tool_ || mark->part == Part::Begin)) cut_for(at, *mark);
    tool_ = mark->tool;
    has_tool_ = true;
    has_ended_ = mark->part == Part::End;
    if (segments_.back().command.words.empty()) take_name(*mark);
  }

  // A tool's line in the middle of its output: the cut is where the other's ended, or between the
  // two streams.
  void cut_for(std::size_t at, const Mark& mark) {
    std::size_t start = at;
    const std::size_t open = segments_.back().first;
    if (mark.part != Part::Begin) start = std::max(last_end_ + 1, open);
    if (open < input_.error_line && input_.error_line <= at) start = input_.error_line;
    if (start <= open) {
      if (start < open || !has_tool_) return;
      start = at;
    }
    end_at(start);
    begin(start, {}, "");
    take_name(mark);
  }

  void take_name(const Mark& mark) {
    Segment& now = segments_.back();
    for (const auto word : split_words(mark.tool))
      now.command.words.emplace_back(word);
    if (mark.tool == "unittest") now.command.words = {"python", "-m", "unittest"};
    now.why = fmt::format("line {} is {}'s", now.first + 1, mark.tool);
  }

  void begin(std::size_t at, CommandWords command, std::string why) {
    segments_.push_back({at, 0, std::move(command), std::move(why)});
    has_tool_ = false;
    has_ended_ = false;
  }

  void end_at(std::size_t at) {
    segments_.back().lines = at - segments_.back().first;
    last_end_ = at;
  }

  // Gives a segment the words of the list's command of that name.
  void name_by_commands() {
    for (Segment& segment : segments_) {
      if (segment.command.words.empty()) continue;
      const std::string name = segment.command.words.front();  // a copy: the words are replaced
      for (const CommandWords& command : input_.commands) {
        if (!command.words.empty() && command.words.front() == name) segment.command = command;
      }
    }
  }

  // A segment of a line or two is not worth a heading of its own.
  std::vector<Segment> join_small() {
    constexpr std::size_t kLeast = 3;
    std::vector<Segment> kept;
    for (Segment& segment : segments_) {
      std::size_t filled = 0;
      for (std::size_t at = 0; at < segment.lines && filled < kLeast; ++at)
        filled += is_blank(line(segment.first + at)) ? 0 : 1;
      if (!kept.empty() && filled < kLeast)
        kept.back().lines += segment.lines;
      else if (segment.lines > 0)
        kept.push_back(std::move(segment));
    }
    return kept;
  }

  const SegmentInput& input_;
  std::vector<Segment> segments_;
  std::string_view tool_;
  bool sees_marks_;
  bool echoes_ = false;
  bool has_tool_ = false;   // the open segment has a line of a known tool
  bool has_ended_ = false;  // and its last one
  std::size_t last_end_ = 0;
};

}  // namespace

std::vector<Segment> find_segments(const SegmentInput& input) {
  return SegmentFinder(input).find();
}

}  // namespace nutshell::compaction
