#include "compaction/command_words.h"

#include <algorithm>
#include <array>

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

}  // namespace

CommandWords command_words(std::string_view shell_text) {
  CommandWords found;
  std::vector<std::string> words;
  ShellReader reader(shell_text.substr(0, kLongestCommand));
  bool skips_target = false;
  const auto end_command = [&] {
    if (words.empty()) return;
    if (!found.words.empty() && !is_silent(found.words)) found.is_whole = false;
    found.words = std::exchange(words, {});
  };
  for (Token token; reader.next(token);) {
    if (!token.is_operator) {
      if (!std::exchange(skips_target, false)) words.push_back(token.text);
      continue;
    }
    const char kind = token.text.front();
    if (kind == '<' || kind == '>') {
      const bool is_descriptor =
          !words.empty() && words.back().size() == 1 && words.back().find_first_of("012") == 0;
      const bool joins_streams = token.text == ">&";
      if (!joins_streams) found.is_whole = false;
      if (is_descriptor) words.pop_back();
      skips_target = true;
      continue;
    }
    const bool is_pipe = token.text == "|";
    end_command();
    if (is_pipe) found.is_whole = false;
  }
  end_command();
  const auto start = std::min(find_program(found.words), found.words.size());
  found.words.erase(found.words.begin(), found.words.begin() + static_cast<std::ptrdiff_t>(start));
  if (!found.words.empty()) found.words.front() = without_directory(found.words.front());
  return found;
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
