#include "compaction/renderer_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>

#include "base/toml_text.h"

namespace nutshell::compaction {
namespace {

constexpr std::size_t kMostBytes = 256U << 10U;
constexpr std::int64_t kMostPatternMemory = 1 << 20;

nutshell::Failure bad(std::string message) {
  return failure(ErrorCode::InvalidArgument, std::move(message));
}

Result<Pattern> to_pattern(const std::string& text) {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kMostPatternMemory);
  auto pattern = std::make_unique<RE2>(text, options);
  if (!pattern->ok()) return bad(fmt::format("pattern '{}': {}", text, pattern->error()));
  return pattern;
}

// Refuses unknown keys, because a misspelt rule would silently do nothing.
Result<> check_keys(const toml::table& table, std::initializer_list<std::string_view> known) {
  for (const auto& [key, value] : table) {
    if (std::find(known.begin(), known.end(), key.str()) == known.end())
      return bad(fmt::format("unknown key '{}'", key.str()));
  }
  return {};
}

Result<std::string> read_text(const toml::table& table, std::string_view key) {
  const toml::node* node = table.get(key);
  if (node == nullptr) return std::string();
  const auto text = node->value<std::string>();
  if (!node->is_string() || !text) return bad(fmt::format("'{}' is not a text", key));
  return *text;
}

Result<std::string> need_text(const toml::table& table, std::string_view key) {
  auto text = TRY(read_text(table, key));
  if (text.empty()) return bad(fmt::format("'{}' is missing", key));
  return text;
}

Result<std::vector<std::string>> read_texts(const toml::table& table, std::string_view key) {
  std::vector<std::string> texts;
  const toml::node* node = table.get(key);
  if (node == nullptr) return texts;
  const toml::array* array = node->as_array();
  if (array == nullptr) return bad(fmt::format("'{}' is not a list", key));
  for (const toml::node& item : *array) {
    if (!item.is_string()) return bad(fmt::format("'{}' is not a list of texts", key));
    texts.push_back(item.value_or(std::string()));
  }
  return texts;
}

Result<std::vector<Pattern>> read_patterns(const toml::table& table, std::string_view key) {
  std::vector<Pattern> patterns;
  for (const std::string& text : TRY(read_texts(table, key)))
    patterns.push_back(TRY(to_pattern(text)));
  return patterns;
}

Result<std::optional<std::size_t>> read_size(const toml::table& table, std::string_view key) {
  const toml::node* node = table.get(key);
  if (node == nullptr) return std::optional<std::size_t>();
  const auto number = node->value<std::int64_t>();
  if (!node->is_integer() || !number || *number < 0)
    return bad(fmt::format("'{}' is not a number of lines", key));
  return std::optional<std::size_t>(static_cast<std::size_t>(*number));
}

// Calls `read` with every table of a list of tables.
template <typename Read>
Result<> for_each_table(const toml::table& table, std::string_view key, const Read& read) {
  const toml::node* node = table.get(key);
  if (node == nullptr) return {};
  const toml::array* array = node->as_array();
  if (array == nullptr) return bad(fmt::format("'{}' is not a list of tables", key));
  for (const toml::node& item : *array) {
    if (!item.is_table()) return bad(fmt::format("'{}' is not a list of tables", key));
    const Result<> done = read(*item.as_table());
    if (!done) return while_doing(key, done.error());
  }
  return {};
}

Result<> read_match(const toml::table& table, RendererRules& rules) {
  const toml::node* node = table.get("match");
  if (node == nullptr || !node->is_table()) return bad("[match] is missing");
  const toml::table& match = *node->as_table();
  TRY(check_keys(match, {"command", "output"}));
  rules.command = TRY(read_texts(match, "command"));
  const auto output = TRY(read_text(match, "output"));
  if (!output.empty()) rules.output = TRY(to_pattern(output));
  if (rules.command.empty() && !rules.output) return bad("[match] has neither command nor output");
  return {};
}

Result<> read_blocks(const toml::table& table, RendererRules& rules) {
  return for_each_table(table, "block", [&](const toml::table& item) -> Result<> {
    TRY(check_keys(item, {"start", "until"}));
    BlockRule block{TRY(to_pattern(TRY(need_text(item, "start")))), nullptr};
    const auto until = TRY(read_text(item, "until"));
    if (!until.empty()) block.until = TRY(to_pattern(until));
    rules.block.push_back(std::move(block));
    return {};
  });
}

Result<> read_line_rules(const toml::table& table, RendererRules& rules) {
  rules.keep = TRY(read_patterns(table, "keep"));
  rules.drop = TRY(read_patterns(table, "drop"));
  rules.head = TRY(read_size(table, "head"));
  rules.tail = TRY(read_size(table, "tail"));
  rules.on_empty = TRY(read_text(table, "on_empty"));
  rules.heading = TRY(read_patterns(table, "heading"));
  rules.summary = TRY(read_patterns(table, "summary"));
  if (const toml::node* fold = table.get("fold"); fold != nullptr) {
    if (!fold->is_boolean()) return bad("'fold' is not true or false");
    rules.folds = fold->value_or(false);
  }
  TRY(read_blocks(table, rules));
  TRY(for_each_table(table, "replace", [&](const toml::table& item) -> Result<> {
    TRY(check_keys(item, {"pattern", "with"}));
    auto pattern = TRY(to_pattern(TRY(need_text(item, "pattern"))));
    auto with = TRY(read_text(item, "with"));
    std::string error;
    if (!pattern->CheckRewriteString(with, &error)) return bad(error);
    rules.replace.push_back({std::move(pattern), std::move(with)});
    return {};
  }));
  TRY(for_each_table(table, "group", [&](const toml::table& item) -> Result<> {
    TRY(check_keys(item, {"pattern", "label"}));
    auto pattern = TRY(to_pattern(TRY(need_text(item, "pattern"))));
    rules.group.push_back({std::move(pattern), TRY(need_text(item, "label"))});
    return {};
  }));
  return for_each_table(table, "count", [&](const toml::table& item) -> Result<> {
    TRY(check_keys(item, {"pattern", "word"}));
    auto pattern = TRY(to_pattern(TRY(need_text(item, "pattern"))));
    rules.count.push_back({std::move(pattern), TRY(need_text(item, "word"))});
    return {};
  });
}

Result<> read_tests(const toml::table& table, RendererRules& rules) {
  TRY(for_each_table(table, "tests", [&](const toml::table& item) -> Result<> {
    TRY(check_keys(item, {"name", "command", "input", "exit_code", "expect"}));
    RendererTest test;
    test.name = TRY(need_text(item, "name"));
    test.command = TRY(read_text(item, "command"));
    test.input = TRY(read_text(item, "input"));
    test.expect = TRY(read_text(item, "expect"));
    test.exit_code = item["exit_code"].value_or(std::int64_t{0});
    rules.tests.push_back(std::move(test));
    return {};
  }));
  if (rules.tests.empty()) return bad("no [[tests]]: a renderer without a test is not used");
  return {};
}

Result<RendererRules> read_table(const toml::table& table) {
  TRY(check_keys(
      table, {"name", "description", "match", "keep", "drop", "replace", "group", "count", "head",
              "tail", "on_empty", "heading", "summary", "block", "fold", "tests"}));
  RendererRules rules;
  rules.name = TRY(need_text(table, "name"));
  TRY(read_match(table, rules));
  TRY(read_line_rules(table, rules));
  TRY(read_tests(table, rules));
  return rules;
}

}  // namespace

Result<RendererRules> read_rules(std::string_view toml, std::string_view file) {
  if (toml.size() > kMostBytes)
    return while_doing(file, {ErrorCode::ResourceExhausted, "larger than 256 KiB"});
  if (auto sound = check_toml_text(toml); !sound)
    return while_doing(fmt::format("{}: line", file), std::move(sound).error());
  const toml::parse_result parsed = toml::parse(toml);
  if (!parsed) {
    const auto& error = parsed.error();
    return while_doing(
        file, {ErrorCode::InvalidArgument,
               fmt::format("line {}: {}", error.source().begin.line, error.description())});
  }
  auto rules = read_table(parsed.table());
  if (!rules) return while_doing(file, std::move(rules).error());
  return rules;
}

}  // namespace nutshell::compaction
