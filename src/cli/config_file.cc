#include <fmt/format.h>

#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>

#include "base/closest_word.h"
#include "base/file.h"
#include "base/toml_text.h"
#include "cli/flags.h"
#include "core/text_form.h"

namespace nutshell::cli {
namespace {

Failure wrong(const Flags& flags, std::string_view key, std::string_view what) {
  return failure(ErrorCode::InvalidArgument, fmt::format("{}: {} {}", flags.config, key, what));
}

// Whether a flag may be given several times.
enum class Repeats : std::uint8_t { Never, Often };

// A key of the file, and the flag that it sets.
struct Setting {
  std::string key;
  std::string flag;
  Repeats repeats = Repeats::Never;
};

// Keys for all flags of a sandbox and an exec, and four more.
std::vector<Setting> known_settings() {
  std::vector<Setting> known = {{"daemon", "daemon"},
                                {"copy", "copy", Repeats::Often},
                                {"inspect", "inspect"},
                                {"secrets", "secret", Repeats::Often}};
  SandboxSpec spec;
  ExecRequest request;
  const auto add = [&known](const FieldInfo& info, const auto& member) {
    using Member = std::remove_cvref_t<decltype(member)>;
    constexpr bool kIsText = std::is_same_v<Member, std::string> || !requires {
      member.begin();
    };
    known.push_back(
        {setting_name(info), std::string(info.flag), kIsText ? Repeats::Never : Repeats::Often});
  };
  for_each_flag(spec, add);
  for_each_flag(request, add);
  return known;
}

Failure unknown_key(const Flags& flags, const std::string& key, const std::vector<Setting>& known) {
  std::vector<std::string> keys;
  keys.reserve(known.size());
  for (const Setting& setting : known)
    keys.push_back(setting.key);
  const std::string best = closest_word(key, keys);
  return wrong(flags, fmt::format("unknown key '{}'", key),
               best.empty() ? "" : fmt::format("(did you mean '{}'?)", best));
}

Result<> take_text(Flags& flags, const Setting& setting, const toml::node& value) {
  std::optional<std::string> given;
  if (const auto word = value.value_exact<std::string>()) given = *word;
  if (const auto number = value.value_exact<std::int64_t>()) given = std::to_string(*number);
  if (const auto number = value.value_exact<double>()) given = fmt::format("{}", *number);
  if (const auto truth = value.value_exact<bool>(); truth && setting.flag == "inspect")
    given = word_for(*truth ? TlsMode::Inspect : TlsMode::Pass);
  if (!given) return wrong(flags, setting.key, "must be a string or a number");
  auto& flag = flags.texts[setting.flag];
  if (!flag) flag = given;
  return {};
}

Result<> take_list(Flags& flags, const Setting& setting, const toml::node& value) {
  auto& flag = flags.lists[setting.flag];
  const toml::array* items = value.as_array();
  if (items == nullptr)
    return wrong(flags, setting.key, "must be a list of strings, like [\"A=1\"]");
  std::vector<std::string> given;
  for (const toml::node& item : *items) {
    const auto word = item.value_exact<std::string>();
    if (!word) return wrong(flags, setting.key, "must be a list of strings, like [\"A=1\"]");
    given.push_back(*word);
  }
  flag.insert(flag.begin(), given.begin(),
              given.end());  // the command line comes last and so overrides
  return {};
}

Result<> take_key(Flags& flags, const std::string& key, const toml::node& value) {
  const std::vector<Setting> known = known_settings();
  for (const Setting& setting : known) {
    if (key != setting.key) continue;
    return setting.repeats == Repeats::Often ? take_list(flags, setting, value)
                                             : take_text(flags, setting, value);
  }
  return unknown_key(flags, key, known);
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
