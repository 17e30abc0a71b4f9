#include <fmt/format.h>

#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>

#include "base/closest_word.h"
#include "base/file.h"
#include "base/toml_text.h"
#include "cli/flag_table.h"

namespace nutshell::cli {
namespace {

Failure wrong(const Flags& flags, std::string_view key, std::string_view what) {
  return failure(ErrorCode::InvalidArgument, fmt::format("{}: {} {}", flags.config, key, what));
}

Failure unknown_key(const Flags& flags, const std::string& key) {
  std::vector<std::string> keys;
  keys.reserve(kTextFlags.size() + kListFlags.size());
  for (const TextFlag& text : kTextFlags)
    keys.emplace_back(text.key);
  for (const ListFlag& list : kListFlags)
    keys.emplace_back(list.key);
  const std::string best = closest_word(key, keys);
  return wrong(flags, fmt::format("unknown key '{}'", key),
               best.empty() ? "" : fmt::format("(did you mean '{}'?)", best));
}

Result<> take_text(Flags& flags, const TextFlag& text, const toml::node& value) {
  auto& flag = flags.*text.flag;
  std::optional<std::string> given;
  if (const auto word = value.value_exact<std::string>()) given = *word;
  if (const auto number = value.value_exact<std::int64_t>()) given = std::to_string(*number);
  if (const auto number = value.value_exact<double>()) given = fmt::format("{}", *number);
  if (!given) return wrong(flags, text.key, "must be a text or a number");
  if (!flag) flag = given;
  return {};
}

Result<> take_list(Flags& flags, const ListFlag& list, const toml::node& value) {
  auto& flag = flags.*list.flag;
  const toml::array* items = value.as_array();
  if (items == nullptr) return wrong(flags, list.key, "must be a list of texts, like [\"A=1\"]");
  std::vector<std::string> given;
  for (const toml::node& item : *items) {
    const auto word = item.value_exact<std::string>();
    if (!word) return wrong(flags, list.key, "must be a list of texts, like [\"A=1\"]");
    given.push_back(*word);
  }
  flag.insert(flag.begin(), given.begin(), given.end());  // the command line comes later and wins
  return {};
}

Result<> take_key(Flags& flags, const std::string& key, const toml::node& value) {
  for (const TextFlag& text : kTextFlags) {
    if (key == text.key) return take_text(flags, text, value);
  }
  for (const ListFlag& list : kListFlags) {
    if (key == list.key) return take_list(flags, list, value);
  }
  return unknown_key(flags, key);
}

}  // namespace

Result<> read_config(Flags& flags) {
  if (flags.config.empty()) return {};
  const std::string text = TRY(read_file(flags.config));
  if (const auto sound = check_toml_text(text); !sound)
    return wrong(flags, "line", sound.error().message);
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    const auto& error = parsed.error();
    return wrong(flags, fmt::format("line {}:", error.source().begin.line), error.description());
  }
  for (const auto& [key, value] : parsed.table())
    TRY(take_key(flags, std::string(key.str()), value));
  return {};
}

}  // namespace nutshell::cli
