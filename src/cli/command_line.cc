#include "cli/command_line.h"

#include <CLI/CLI.hpp>

namespace nutshell::cli {

const CommandOption& CommandOption::group(const std::string& heading) const {
  if (option_ != nullptr) option_->group(heading);
  return *this;
}

const CommandOption& CommandOption::required() const {
  if (option_ != nullptr) option_->required();
  return *this;
}

const CommandOption& CommandOption::delimiter(char between) const {
  if (option_ != nullptr) option_->delimiter(between);
  return *this;
}

const CommandOption& CommandOption::excludes(const CommandOption& other) const {
  if (option_ != nullptr && other.option_ != nullptr) option_->excludes(other.option_);
  return *this;
}

const CommandOption& CommandOption::shows_default() const {
  if (option_ != nullptr) option_->capture_default_str();
  return *this;
}

const CommandOption& CommandOption::is_one_of(const std::vector<std::string>& words) const {
  if (option_ != nullptr) option_->check(CLI::IsMember(words));
  return *this;
}

const CommandOption& CommandOption::shows_values(const std::vector<std::string>& words) const {
  std::string all;
  for (const std::string& word : words)
    all += (all.empty() ? "{" : ",") + word;
  if (option_ != nullptr) option_->type_name(all + "}");
  return *this;
}

const CommandOption& CommandOption::is_between(double least, double most) const {
  if (option_ != nullptr) option_->check(CLI::Range(least, most));
  return *this;
}

CommandLine CommandLine::add_command(const std::string& name, const std::string& help) const {
  return {parser_->add_subcommand(name, help), flags_};
}

bool CommandLine::leaves_out(const std::string& names) const {
  return flags_ == CommandFlags::LeftOut && names.starts_with('-');
}

template <typename Value>
CommandOption CommandLine::add_option(const std::string& names, Value& value,
                                      const std::string& help) const {
  if (leaves_out(names)) return CommandOption(nullptr);
  CLI::Option* option = parser_->add_option(names, value, help);
  // A flag takes one value each time it is given: the next word may belong to something else.
  if (std::is_same_v<Value, std::vector<std::string>> && names.starts_with('-'))
    option->allow_extra_args(false);
  return CommandOption(option);
}

template CommandOption CommandLine::add_option(const std::string&, std::string&,
                                               const std::string&) const;
template CommandOption CommandLine::add_option(const std::string&, std::optional<std::string>&,
                                               const std::string&) const;
template CommandOption CommandLine::add_option(const std::string&, std::vector<std::string>&,
                                               const std::string&) const;
template CommandOption CommandLine::add_option(const std::string&, int&, const std::string&) const;
template CommandOption CommandLine::add_option(const std::string&, unsigned&,
                                               const std::string&) const;
template CommandOption CommandLine::add_option(const std::string&, std::uint64_t&,
                                               const std::string&) const;

CommandOption CommandLine::add_flag(const std::string& names, bool& value,
                                    const std::string& help) const {
  if (leaves_out(names)) return CommandOption(nullptr);
  return CommandOption(parser_->add_flag(names, value, help));
}

CommandLine CommandLine::alias(const std::string& name) const {
  parser_->alias(name);
  return *this;
}

bool CommandLine::has_chosen_command() const {
  return !parser_->get_subcommands().empty();
}

void CommandLine::footer(const std::string& text) const {
  parser_->footer(text);
}

void CommandLine::callback(std::function<void()> chosen) const {
  parser_->callback(std::move(chosen));
}

void CommandLine::require_command(std::size_t least, std::size_t most) const {
  parser_->require_subcommand(least, most);
}

}  // namespace nutshell::cli
