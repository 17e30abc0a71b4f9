#include "compaction/user_renderer.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "compaction/clean.h"
#include "compaction/command_words.h"
#include "compaction/renderer_rules.h"

namespace nutshell::compaction {
namespace {

re2::StringPiece piece(std::string_view text) {
  return {text.data(), text.size()};
}

bool is_found(const Pattern& pattern, std::string_view line) {
  return RE2::PartialMatch(piece(line), *pattern);
}

bool is_found_in_any(const std::vector<Pattern>& patterns, std::string_view line) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const Pattern& pattern) { return is_found(pattern, line); });
}

// The lines of one group, which are shown as one line at the place of the first of them.
struct Group {
  std::size_t at = 0;
  std::uint64_t lines = 0;
  std::vector<std::string> items;
  std::unordered_set<std::string> known;
};

class RuleRun {
 public:
  explicit RuleRun(const RendererRules& rules)
      : rules_(rules), groups_(rules.group.size()), counts_(rules.count.size()) {}

  Facts run(Lines lines) {
    for (const auto line : lines)
      add(line);
    for (std::size_t index = 0; index < groups_.size(); ++index)
      finish_group(index);
    cut_middle();
    Facts facts;
    facts.tool = rules_.name;
    for (std::size_t index = 0; index < counts_.size(); ++index)
      facts.totals.push_back({rules_.count[index].word, counts_[index]});
    if (kept_.empty() && !rules_.on_empty.empty()) kept_.push_back(rules_.on_empty);
    facts.kept = std::move(kept_);
    facts.omitted = {{"lines dropped", dropped_}, {"lines grouped", grouped_}, {"lines cut", cut_}};
    return facts;
  }

 private:
  void add(std::string_view original) {
    std::string line(original);
    for (const Replacement& replacement : rules_.replace)
      RE2::GlobalReplace(&line, *replacement.pattern, replacement.with);
    for (std::size_t index = 0; index < counts_.size(); ++index)
      counts_[index] += is_found(rules_.count[index].pattern, line) ? 1 : 0;
    const bool is_unwanted = is_found_in_any(rules_.drop, line) ||
                             (!rules_.keep.empty() && !is_found_in_any(rules_.keep, line));
    if (is_unwanted) {
      ++dropped_;
    } else if (!add_to_group(line)) {
      kept_.push_back(std::move(line));
    }
  }

  bool add_to_group(const std::string& line) {
    for (std::size_t index = 0; index < groups_.size(); ++index) {
      const Pattern& pattern = rules_.group[index].pattern;
      std::string item;
      const bool has_item = pattern->NumberOfCapturingGroups() > 0;
      const bool is_in =
          has_item ? RE2::PartialMatch(line, *pattern, &item) : is_found(pattern, line);
      if (!is_in) continue;
      Group& group = groups_[index];
      if (group.lines++ == 0) {
        group.at = kept_.size();
        kept_.emplace_back();
      } else {
        ++grouped_;
      }
      if (has_item && group.known.insert(item).second) group.items.push_back(item);
      return true;
    }
    return false;
  }

  void finish_group(std::size_t index) {
    const Group& group = groups_[index];
    if (group.lines == 0) return;
    kept_[group.at] = fmt::format("{} ×{}{}{}", rules_.group[index].label, group.lines,
                                  group.items.empty() ? "" : ": ", fmt::join(group.items, ", "));
  }

  void cut_middle() {
    if (!rules_.head && !rules_.tail) return;
    const std::size_t head = rules_.head.value_or(0);
    const std::size_t tail = rules_.tail.value_or(0);
    if (kept_.size() <= head + tail) return;
    cut_ = kept_.size() - head - tail;
    const auto from = kept_.begin() + static_cast<std::ptrdiff_t>(head);
    kept_.erase(from, from + static_cast<std::ptrdiff_t>(cut_));
  }

  const RendererRules& rules_;
  std::vector<Group> groups_;
  std::vector<std::uint64_t> counts_;
  std::vector<std::string> kept_;
  std::uint64_t dropped_ = 0;
  std::uint64_t grouped_ = 0;
  std::uint64_t cut_ = 0;
};

std::string text_of(const Facts& facts) {
  return fmt::format("{}", fmt::join(facts.kept, "\n"));
}

std::string_view without_last_newlines(std::string_view text) {
  while (text.ends_with('\n'))
    text.remove_suffix(1);
  return text;
}

Result<> run_test(const UserRenderer& renderer, const RendererTest& test) {
  const CleanText text(test.input, "");
  const auto command = command_words(test.command);
  ExecResult ending;
  ending.outcome = Outcome::Exited;
  ending.exit_code = static_cast<int>(test.exit_code);
  const ParserInput input{command, text.lines(), ending};
  if (!test.command.empty() && !renderer.matches(input)) {
    return failure(ErrorCode::InvalidArgument,
                   fmt::format("test '{}': [match] does not take it", test.name));
  }
  const auto made = text_of(renderer.apply(input));
  if (without_last_newlines(made) == without_last_newlines(test.expect)) return {};
  return failure(ErrorCode::InvalidArgument,
                 fmt::format("test '{}' gives\n{}\nand not\n{}", test.name, made, test.expect));
}

}  // namespace

struct UserRenderer::Rules : RendererRules {};

UserRenderer::UserRenderer(std::unique_ptr<const Rules> rules) : rules_(std::move(rules)) {}
UserRenderer::UserRenderer(UserRenderer&& other) noexcept = default;
UserRenderer& UserRenderer::operator=(UserRenderer&& other) noexcept = default;
UserRenderer::~UserRenderer() = default;

Result<UserRenderer> UserRenderer::parse(std::string_view toml, std::string_view file) {
  auto rules = TRY(read_rules(toml, file));
  UserRenderer renderer(std::make_unique<const Rules>(Rules{std::move(rules)}));
  for (const RendererTest& test : renderer.rules_->tests) {
    const auto passed = run_test(renderer, test);
    if (!passed) return while_doing(file, passed.error());
  }
  return renderer;
}

const std::string& UserRenderer::name() const {
  return rules_->name;
}

bool UserRenderer::matches(const ParserInput& input) const {
  const auto& wanted = rules_->command;
  const auto& words = input.command.words;
  const bool is_command =
      wanted.size() <= words.size() && std::equal(wanted.begin(), wanted.end(), words.begin());
  if (!is_command) return false;
  if (!rules_->output) return true;
  return std::any_of(input.lines.begin(), input.lines.end(),
                     [&](std::string_view line) { return is_found(rules_->output, line); });
}

Facts UserRenderer::apply(const ParserInput& input) const {
  return RuleRun(*rules_).run(input.lines);
}

}  // namespace nutshell::compaction
