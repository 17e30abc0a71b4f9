#include "cli/secret_flag.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <sstream>
#include <string_view>
#include <vector>

#include "base/deadline.h"
#include "base/environment.h"
#include "base/file.h"
#include "base/spawn.h"
#include "images/run_program.h"

namespace nutshell::cli {
namespace {

constexpr std::chrono::minutes kCommandTime{1};  // it may ask its user for a password
constexpr std::size_t kMostValueBytes = 64U << 10U;

Failure wrong(const std::string& name, std::string_view why) {
  return failure(
      ErrorCode::InvalidArgument,
      fmt::format("--secret {}: {}. NAME=@env:VARIABLE,host=HOST is expected, or @file:PATH "
                  "or @command:PROGRAM in place of @env",
                  name, why));
}

Result<std::string> output_of(const std::string& command) {
  std::istringstream text(command);
  std::vector<std::string> words;
  for (std::string word; text >> word;)
    words.push_back(word);
  if (words.empty()) return failure(ErrorCode::InvalidArgument, "@command: names no program");
  Command program;
  program.arguments = std::move(words);
  return images::run_program(std::move(program), Deadline::in(kCommandTime));
}

Result<std::string> value_from(const std::string& name, std::string_view source) {
  const std::size_t colon = source.find(':');
  const std::string_view kind = source.substr(0, colon);
  const std::string place(colon == std::string_view::npos ? "" : source.substr(colon + 1));
  if (kind == "@env") {
    std::string value = environment_variable(place.c_str());
    if (value.empty()) return wrong(name, fmt::format("the variable '{}' is not set here", place));
    return value;
  }
  Result<std::string> text = wrong(name, "the value is not said by its source");
  if (kind == "@file") text = read_file(place, kMostValueBytes);
  if (kind == "@command") text = output_of(place);
  if (!text) return while_doing("--secret " + name, std::move(text).error());
  // Files and programs end their last line.
  while (!text->empty() && (text->back() == '\n' || text->back() == '\r'))
    text->pop_back();
  return text;
}

Result<> take_word(std::string_view word, NetworkSecret& secret) {
  constexpr std::string_view kHost = "host=";
  if (word.substr(0, kHost.size()) == kHost) {
    secret.hosts.emplace_back(word.substr(kHost.size()));
  } else if (word == "in=query") {
    secret.is_in_query = true;
  } else if (word == "in=body") {
    secret.is_in_body = true;
  } else {
    return wrong(secret.name,
                 fmt::format("'{:.80}' is neither host=HOST, in=query nor in=body", word));
  }
  return {};
}

// Paths and commands may contain commas; the words behind them begin like this.
std::size_t end_of_source(std::string_view text) {
  return std::min({text.find(",host="), text.find(",in="), text.size()});
}

}  // namespace

Result<NetworkSecret> parse_secret(const std::string& text) {
  const std::size_t equals = text.find('=');
  NetworkSecret secret;
  secret.name = text.substr(0, equals);
  if (equals == std::string::npos || secret.name.empty())
    return wrong(secret.name.substr(0, 80), "there is no NAME=");
  std::string_view rest = std::string_view(text).substr(equals + 1);
  const std::string_view source = rest.substr(0, end_of_source(rest));
  rest.remove_prefix(source.size());
  while (!rest.empty()) {
    rest.remove_prefix(1);  // the comma
    const std::string_view word = rest.substr(0, rest.find(','));
    TRY(take_word(word, secret));
    rest.remove_prefix(word.size());
  }
  if (secret.hosts.empty()) return wrong(secret.name, "it names no host whose requests get it");
  secret.value = TRY(value_from(secret.name, source));
  return secret;
}

}  // namespace nutshell::cli
