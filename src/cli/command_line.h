// Wraps a command of the CLI parser: names, options, help. The parser's header stays out of sight,
// because every file that includes it makes the program start later.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): the parser's name
class App;
class Option;
}  // namespace CLI

namespace nutshell::cli {

// An option of a command; calls do nothing if the option was left out.
class CommandOption {
 public:
  explicit CommandOption(CLI::Option* option) : option_(option) {}

  const CommandOption& group(const std::string& heading) const;
  const CommandOption& required() const;
  const CommandOption& delimiter(char between) const;
  const CommandOption& excludes(const CommandOption& other) const;
  const CommandOption& shows_default() const;
  const CommandOption& is_one_of(const std::vector<std::string>& words) const;
  // Shows these words in the help and in completion; other values may be possible too.
  const CommandOption& shows_values(const std::vector<std::string>& words) const;
  const CommandOption& is_between(double least, double most) const;

 private:
  CLI::Option* option_;
};

// Whether a command's flags are added to the parser. They are not needed if no word begins with a
// dash, and adding them takes a tenth of the time that a sandbox takes to start.
enum class CommandFlags : std::uint8_t { Built, LeftOut };

class CommandLine {
 public:
  CommandLine(CLI::App* parser, CommandFlags flags) : parser_(parser), flags_(flags) {}

  [[nodiscard]] CommandLine add_command(const std::string& name, const std::string& help) const;

  // `names`: "-n,--name", or "NAME" for a word without a dash.
  template <typename Value>
  CommandOption add_option(const std::string& names, Value& value, const std::string& help) const;
  CommandOption add_flag(const std::string& names, bool& value, const std::string& help) const;

  // Whether added flags get into the parser. If not, a caller that adds many can skip them.
  [[nodiscard]] bool builds_flags() const { return flags_ == CommandFlags::Built; }

  // Adds another name for the command.
  [[nodiscard]] CommandLine alias(const std::string& name) const;
  void footer(const std::string& text) const;
  void callback(std::function<void()> chosen) const;
  void require_command(std::size_t least, std::size_t most) const;

  // After parsing: whether one of its subcommands was given.
  [[nodiscard]] bool has_chosen_command() const;

  [[nodiscard]] CLI::App& parser() const { return *parser_; }

 private:
  [[nodiscard]] bool leaves_out(const std::string& names) const;

  CLI::App* parser_;
  CommandFlags flags_;
};

}  // namespace nutshell::cli
