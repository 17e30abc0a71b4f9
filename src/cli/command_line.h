// A command of the program as its parser knows it: words, options, help. The parser itself stays
// behind it: every file that includes its header makes the program start later.
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

// An option of a command, or the place of one that is not built.
class CommandOption {
 public:
  explicit CommandOption(CLI::Option* option) : option_(option) {}

  const CommandOption& group(const std::string& heading) const;
  const CommandOption& required() const;
  const CommandOption& delimiter(char between) const;
  const CommandOption& excludes(const CommandOption& other) const;
  const CommandOption& shows_default() const;
  const CommandOption& is_one_of(const std::vector<std::string>& words) const;
  const CommandOption& is_between(double least, double most) const;

 private:
  CLI::Option* option_;
};

// Whether a command's flags are made known to the parser. When no word begins with a dash none of
// them can be meant, and making them takes as long as a tenth of a sandbox.
enum class CommandFlags : std::uint8_t { Built, LeftOut };

class CommandLine {
 public:
  CommandLine(CLI::App* parser, CommandFlags flags) : parser_(parser), flags_(flags) {}

  [[nodiscard]] CommandLine add_command(const std::string& name, const std::string& help) const;

  // "-n,--name", or "NAME" for a word without a dash.
  template <typename Value>
  CommandOption add_option(const std::string& names, Value& value, const std::string& help) const;
  CommandOption add_flag(const std::string& names, bool& value, const std::string& help) const;

  // Whether flags that are added are built at all: whoever adds many can save the work.
  [[nodiscard]] bool builds_flags() const { return flags_ == CommandFlags::Built; }

  // Another name for it.
  [[nodiscard]] CommandLine alias(const std::string& name) const;
  void footer(const std::string& text) const;
  void callback(std::function<void()> chosen) const;
  void require_command(std::size_t least, std::size_t most) const;

  // Once the words are parsed: whether one of its own commands was among them.
  [[nodiscard]] bool has_chosen_command() const;

  [[nodiscard]] CLI::App& parser() const { return *parser_; }

 private:
  [[nodiscard]] bool leaves_out(const std::string& names) const;

  CLI::App* parser_;
  CommandFlags flags_;
};

}  // namespace nutshell::cli
