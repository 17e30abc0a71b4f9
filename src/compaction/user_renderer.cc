#include "compaction/user_renderer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_set>
#include <utility>

#include "compaction/clean.h"
#include "compaction/command_words.h"
#include "compaction/like_lines.h"
#include "compaction/renderer_rules.h"
#include "compaction/text_scan.h"

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
    dropped_ += heading_.empty() ? 0 : 1;
    heading_.clear();
    if (rules_.folds) fold();
    cut_middle();
    Facts facts;
    facts.tool = rules_.name;
    for (std::size_t index = 0; index < counts_.size(); ++index)
      facts.totals.push_back({rules_.count[index].word, counts_[index]});
    if (kept_.empty() && !rules_.on_empty.empty()) keep(rules_.on_empty, Hold::Fast);
    for (Kept& line : kept_)
      facts.kept.push_back(std::move(line.text));
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
    if (add_to_block(line)) return;
    if (is_found_in_any(rules_.summary, line)) return keep(std::move(line), Hold::Fast);
    if (is_found_in_any(rules_.heading, line)) {
      dropped_ += heading_.empty() ? 0 : 1;
      heading_ = std::move(line);
      return;
    }
    const bool is_unwanted = is_found_in_any(rules_.drop, line) ||
                             (!rules_.keep.empty() && !is_found_in_any(rules_.keep, line));
    if (is_unwanted) {
      ++dropped_;
    } else if (!add_to_group(line)) {
      keep(std::move(line), Hold::Loose);
    }
  }

  // A line that holds fast is neither folded nor cut.
  enum class Hold : std::uint8_t { Fast, Loose };
  struct Kept {
    std::string text;
    Hold hold = Hold::Loose;
    std::size_t section = 0;  // the number of headings before it
  };

  void keep(std::string line, Hold hold) {
    if (!heading_.empty()) {
      ++section_;
      kept_.push_back({std::exchange(heading_, {}), Hold::Fast, section_});
    }
    kept_.push_back({std::move(line), hold, section_});
  }

  bool add_to_block(std::string& line) {
    const BlockRule* open = block_;
    if (open == nullptr) {
      for (const BlockRule& rule : rules_.block) {
        if (is_found(rule.start, line)) open = &rule;
      }
      if (open == nullptr) return false;
    } else if (open->until ? is_found(open->until, line) : is_blank(line)) {
      block_ = nullptr;
      if (open->until) keep(std::move(line), Hold::Fast);
      return true;
    }
    block_ = open;
    keep(std::move(line), Hold::Fast);
    return true;
  }

  // Folds like lines below the same heading.
  void fold() {
    std::map<std::pair<std::size_t, std::uint64_t>, std::vector<std::size_t>> groups;
    for (std::size_t at = 0; at < kept_.size(); ++at) {
      if (kept_[at].hold == Hold::Loose)
        groups[{kept_[at].section, likeness_of(kept_[at].text)}].push_back(at);
    }
    std::vector<bool> is_gone(kept_.size());
    for (const auto& [key, members] : groups) {
      std::vector<std::string_view> lines;
      lines.reserve(members.size());
      for (const std::size_t at : members)
        lines.push_back(kept_[at].text);
      const auto made = fold_like(lines, Listing::All);
      for (const std::size_t member : made.members)
        is_gone[members[member]] = true;
      if (made.members.empty()) continue;
      const std::size_t first = members[made.members.front()];
      is_gone[first] = false;
      kept_[first].text = made.text;
      grouped_ += made.members.size() - 1;
    }
    std::vector<Kept> left;
    for (std::size_t at = 0; at < kept_.size(); ++at) {
      if (!is_gone[at]) left.push_back(std::move(kept_[at]));
    }
    kept_ = std::move(left);
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
        keep("", Hold::Fast);
        group.at = kept_.size() - 1;
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
    kept_[group.at].text =
        fmt::format("{} ×{}{}{}", rules_.group[index].label, group.lines,
                    group.items.empty() ? "" : ": ", fmt::join(group.items, ", "));
  }

  void cut_middle() {
    if (!rules_.head && !rules_.tail) return;
    const std::size_t head = rules_.head.value_or(0);
    const std::size_t tail = rules_.tail.value_or(0);
    if (kept_.size() <= head + tail) return;
    std::vector<Kept> left;
    for (std::size_t at = 0; at < kept_.size(); ++at) {
      const bool is_cut = at >= head && at + tail < kept_.size() && kept_[at].hold == Hold::Loose;
      cut_ += is_cut ? 1 : 0;
      if (!is_cut) left.push_back(std::move(kept_[at]));
    }
    kept_ = std::move(left);
  }

  const RendererRules& rules_;
  std::vector<Group> groups_;
  std::vector<std::uint64_t> counts_;
  std::vector<Kept> kept_;
  std::string heading_;               // the last one, until a line below it is kept
  const BlockRule* block_ = nullptr;  // the block that is open
  std::size_t section_ = 0;
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
