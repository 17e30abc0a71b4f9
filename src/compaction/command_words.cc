#include "compaction/command_words.h"

#include <algorithm>
#include <array>
#include <utility>

namespace nutshell::compaction {
namespace {

constexpr std::size_t kLongestCommand = 64U << 10U;

struct Token {
  std::string text;
  bool is_operator = false;
};

// Reads one word or operator at a time, as sh(1) would split it.
class ShellReader {
 public:
  explicit ShellReader(std::string_view text) : rest_(text) {}

  bool next(Token& token) {
    skip_blanks();
    if (rest_.empty()) return false;
    token = {};
    if (is_operator(rest_.front())) {
      token.is_operator = true;
      read_operator(token.text);
      return true;
    }
    while (!rest_.empty() && !is_blank(rest_.front()) && !is_operator(rest_.front()))
      read_part(token.text);
    return true;
  }

 private:
  static bool is_blank(char character) { return character == ' ' || character == '\t'; }
  static bool is_operator(char character) {
    return std::string_view(";&|<>()\n").find(character) != std::string_view::npos;
  }

  void skip_blanks() {
    while (!rest_.empty()) {
      const bool is_joined = rest_.starts_with("\\\n");
      if (!is_joined && !is_blank(rest_.front())) return;
      rest_.remove_prefix(is_joined ? 2 : 1);
    }
  }

  void read_operator(std::string& text) {
    const char first = rest_.front();
    while (!rest_.empty() && (rest_.front() == first || (first == '>' && rest_.front() == '&'))) {
      text += rest_.front();
      rest_.remove_prefix(1);
    }
  }

  // A quoted stretch, an escaped character or a plain one.
  void read_part(std::string& text) {
    if (rest_.empty()) return;
    const char quote = rest_.front();
    rest_.remove_prefix(1);
    if (quote == '\\' && !rest_.empty()) {
      text += rest_.front();
      rest_.remove_prefix(1);
      return;
    }
    if (quote != '\'' && quote != '"') {
      text += quote;
      return;
    }
    const auto end = std::min(rest_.find(quote), rest_.size());
    text += rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
  }

  std::string_view rest_;
};

bool is_assignment(std::string_view word) {
  const auto equals = word.find('=');
  if (equals == std::string_view::npos || equals == 0) return false;
  return std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(equals), [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
  });
}

// Programs that run another: the words to drop are the program, its flags, and for some a value.
struct Wrapper {
  std::string_view program;
  std::string_view subcommand;  // "run" of `uv run pytest`; empty: none
  std::size_t values = 0;       // words after the flags and before the program
};
constexpr std::array<Wrapper, 16> kWrappers = {{{"sudo", "", 0},
                                                {"env", "", 0},
                                                {"time", "", 0},
                                                {"nice", "", 0},
                                                {"nohup", "", 0},
                                                {"command", "", 0},
                                                {"exec", "", 0},
                                                {"stdbuf", "", 0},
                                                {"timeout", "", 1},
                                                {"npx", "", 0},
                                                {"bunx", "", 0},
                                                {"uv", "run", 0},
                                                {"poetry", "run", 0},
                                                {"pipenv", "run", 0},
                                                {"pnpm", "exec", 0},
                                                {"bundle", "exec", 0}}};

std::string_view without_directory(std::string_view program) {
  return program.substr(program.rfind('/') + 1);  // npos + 1 is 0
}

const Wrapper* find_wrapper(const std::vector<std::string>& words, std::size_t at) {
  for (const Wrapper& wrapper : kWrappers) {
    if (without_directory(words[at]) != wrapper.program) continue;
    if (wrapper.subcommand.empty()) return &wrapper;
    if (at + 1 < words.size() && words[at + 1] == wrapper.subcommand) return &wrapper;
  }
  return nullptr;
}

// Returns the index of the program's first word, after assignments and wrappers.
std::size_t find_program(const std::vector<std::string>& words) {
  std::size_t at = 0;
  const auto skip_assignments = [&] {
    while (at < words.size() && is_assignment(words[at]))
      ++at;
  };
  skip_assignments();
  while (at < words.size()) {
    const Wrapper* wrapper = find_wrapper(words, at);
    if (wrapper == nullptr) break;
    std::size_t next = at + (wrapper->subcommand.empty() ? 1 : 2);
    while (next < words.size() && words[next].starts_with('-'))
      ++next;
    next += wrapper->values;
    if (next >= words.size()) break;  // nothing is wrapped: `env` alone is a program
    at = next;
    skip_assignments();
  }
  return at;
}

// Commands that print nothing and only prepare the one after `&&` or `;`.
bool is_silent(const std::vector<std::string>& words) {
  constexpr std::array<std::string_view, 7> kSilent = {"cd", "export", "set", "source",
                                                       ".",  "mkdir",  "true"};
  const std::size_t at = find_program(words);
  if (at >= words.size()) return true;
  return std::find(kSilent.begin(), kSilent.end(), words[at]) != kSilent.end();
}

// One command of a list or pipeline.
struct SimpleCommand {
  std::vector<std::string> words;  // as written
  bool is_piped = false;           // its output feeds the next
  bool is_redirected = false;
};

std::vector<SimpleCommand> split_commands(std::string_view shell_text) {
  std::vector<SimpleCommand> commands(1);
  ShellReader reader(shell_text.substr(0, kLongestCommand));
  bool skips_target = false;
  for (Token token; reader.next(token);) {
    SimpleCommand& now = commands.back();
    if (!token.is_operator) {
      if (!std::exchange(skips_target, false)) now.words.push_back(token.text);
      continue;
    }
    const char kind = token.text.front();
    if (kind == '<' || kind == '>') {
      const bool is_descriptor = !now.words.empty() && now.words.back().size() == 1 &&
                                 now.words.back().find_first_of("012") == 0;
      if (token.text != ">&") now.is_redirected = true;
      if (is_descriptor) now.words.pop_back();
      skips_target = true;
      continue;
    }
    now.is_piped = token.text == "|";
    if (!now.words.empty()) commands.emplace_back();
  }
  if (commands.back().words.empty()) commands.pop_back();
  return commands;
}

// The words of the program, without assignments, wrappers and its directory.
std::vector<std::string> program_words(std::vector<std::string> words) {
  const auto start = std::min(find_program(words), words.size());
  words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(start));
  if (!words.empty()) words.front() = without_directory(words.front());
  return words;
}

// The text that `sh -c TEXT` runs; empty for any other command.
std::string inner_text(const std::vector<std::string>& words) {
  constexpr std::array<std::string_view, 4> kShells = {"sh", "bash", "dash", "zsh"};
  const bool is_shell =
      !words.empty() && std::find(kShells.begin(), kShells.end(), words.front()) != kShells.end();
  if (!is_shell) return "";
  for (std::size_t at = 1; at + 1 < words.size() && words[at].starts_with('-'); ++at) {
    if (words[at].ends_with('c') && !words[at].starts_with("--")) return words[at + 1];
  }
  return "";
}

}  // namespace

CommandWords command_words(std::string_view shell_text) {
  CommandWords found;
  for (const SimpleCommand& command : split_commands(shell_text)) {
    if (!found.words.empty() && !is_silent(found.words)) found.is_whole = false;
    if (command.is_piped || command.is_redirected) found.is_whole = false;
    found.words = command.words;
  }
  found.words = program_words(std::move(found.words));
  const auto inner = inner_text(found.words);
  if (inner.empty() || inner.size() >= shell_text.size()) return found;
  auto within = command_words(inner);
  within.is_whole = within.is_whole && found.is_whole;
  return within;
}

std::vector<CommandWords> listed_commands(std::string_view shell_text) {
  std::vector<CommandWords> commands;
  for (SimpleCommand& command : split_commands(shell_text)) {
    if (command.is_piped || is_silent(command.words)) continue;
    CommandWords one{program_words(std::move(command.words)), !command.is_redirected};
    const auto inner = inner_text(one.words);
    if (inner.empty() || inner.size() >= shell_text.size()) {
      commands.push_back(std::move(one));
      continue;
    }
    for (CommandWords& within : listed_commands(inner))
      commands.push_back(std::move(within));
  }
  return commands;
}

bool reads_log(const CommandWords& command) {
  if (command.words.empty() || !command.is_whole) return false;
  const auto& program = command.words.front();
  if (program == "journalctl" || program == "dmesg") return true;
  constexpr std::array<std::string_view, 5> kEngines = {"docker", "podman", "nerdctl", "kubectl",
                                                        "docker-compose"};
  if (std::find(kEngines.begin(), kEngines.end(), program) == kEngines.end()) return false;
  bool may_be_value = false;  // of the option before it
  for (std::size_t at = 1; at < command.words.size(); ++at) {
    const auto& word = command.words[at];
    if (word == "logs") return true;
    const bool is_option = word.starts_with('-');
    const bool is_group = word == "compose" || word == "container" || word == "pod";
    if (!is_option && !is_group && !may_be_value) return false;
    may_be_value = is_option;
  }
  return false;
}

bool CommandWords::starts_with(std::initializer_list<std::string_view> prefix) const {
  return prefix.size() <= words.size() && std::equal(prefix.begin(), prefix.end(), words.begin());
}

bool CommandWords::has(std::string_view word) const {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace nutshell::compaction
