#include "compaction/formatter.h"

#include <fmt/format.h>

#include <algorithm>

#include "compaction/body_line.h"
#include "compaction/compactor.h"
#include "compaction/diagnostic_table.h"
#include "compaction/error_words.h"
#include "compaction/fact_blocks.h"
#include "compaction/status_line.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

std::size_t line_of(const FormatInput& input, std::string_view needle) {
  const auto& lines = input.lines;
  const auto found = std::find_if(lines.begin(), lines.end(),
                                  [&](std::string_view line) { return contains(line, needle); });
  const auto at = found == lines.end() ? 0 : found - lines.begin();
  return input.first_line + static_cast<std::size_t>(at) + 1;
}

std::string list_of(const std::vector<Omission>& omitted) {
  std::string list;
  for (const Omission& omission : omitted) {
    if (omission.lines == 0) continue;
    list += fmt::format("{}{} {}", list.empty() ? "" : ", ", omission.lines, omission.what);
  }
  return list;
}

// A section with the cost of showing it and of only naming it.
struct Part {
  static constexpr std::size_t kCallTokens = 16;  // "(not shown; recall o7f3a offset=123)"

  Part(const Section& of, std::string shown)
      : section(&of),
        text(std::move(shown)),
        tokens(estimate_tokens(text)),
        named(estimate_tokens(of.head) + kCallTokens) {}

  [[nodiscard]] std::size_t least() const { return std::min(tokens, named); }

  const Section* section;
  std::string text;
  std::size_t tokens;
  std::size_t named;
};

// Adds what fits, in the given order.
class Packer {
 public:
  explicit Packer(const FormatInput& input) : input_(input), left_(input.max_tokens) {}

  void add_blocks(const std::vector<FactBlock>& blocks, std::string_view what) {
    reserve_heads(blocks);
    for (std::size_t at = 0; at < blocks.size(); ++at) {
      const FactBlock& block = blocks[at];
      const std::size_t head = estimate_tokens(block.head);
      if (head > left_) return stop_at(blocks, at, what);
      take(block.head, head);
      reserved_ -= std::min(reserved_, head);
      add_detail(block);
    }
  }

  // Many diagnostics are written as a table if that is much smaller, or if they do not fit.
  void add_diagnostics(const std::vector<Diagnostic>& diagnostics) {
    auto made = blocks_within(diagnostics, left_);
    add_blocks(made.blocks, "diagnostics");
    is_cut_ = is_cut_ || made.is_table;  // the messages do not stand as printed
    if (made.details > 0) omitted_.push_back({"lines of detail", made.details});
  }

  // If not all lines fit, those that look like errors come first, then the last ones, then the
  // others from the start.
  void add_kept(const std::vector<std::string>& kept) {
    std::vector<KeptLine> lines;
    std::size_t all = 0;
    for (const std::string& line : kept) {
      lines.push_back({shortened(as_data(line)) + "\n", 0, false});
      lines.back().tokens = estimate_tokens(lines.back().text);
      all += lines.back().tokens;
    }
    choose_kept(lines, kept, all);
    std::size_t missing = 0;
    for (std::size_t at = 0; at < lines.size(); ++at) {
      if (lines[at].is_chosen) {
        text_ += lines[at].text;
        continue;
      }
      if (missing++ == 0 && next_ == 0) next_ = line_of(input_, kept[at]);
    }
    if (missing > 0) omitted_.push_back({"more lines", missing});
  }

  // Shows whole sections while there is room for them and for the names of the others, which come
  // last. Context is left out before a section is.
  void add_sections(const std::vector<Section>& sections) {
    std::size_t all = 0;
    for (const Section& section : sections)
      all += estimate_tokens(text_of(section, section.lines));
    const bool is_brief = all > left_;
    if (is_brief) omit_context(sections);
    std::vector<Part> parts;
    parts.reserve(sections.size());
    for (const Section& section : sections) {
      parts.emplace_back(section, text_of(section, is_brief ? section.brief : section.lines));
      reserved_ += parts.back().least();
    }
    std::vector<const Section*> unshown;
    for (const Part& part : parts) {
      const bool has_room = part.tokens + reserved_ <= left_ + part.least();
      const bool is_short = part.tokens <= part.named && part.tokens <= left_;
      if (!has_room && !is_short) {
        unshown.push_back(part.section);  // the room for its name stays reserved
        continue;
      }
      reserved_ -= std::min(reserved_, part.least());
      take(part.text, part.tokens);
    }
    name_unshown(unshown);
  }

  void add_unshown(const std::vector<Unshown>& unshown) {
    for (const Unshown& part : unshown) {
      const auto call = input_.recall_id.empty()
                            ? recall_call(input_.recall_id)
                            : fmt::format("{} {}", recall_call(input_.recall_id), part.arguments);
      const auto text = fmt::format("(not shown: {}; {})\n", part.what, call);
      const std::size_t tokens = estimate_tokens(text);
      if (tokens > left_) return;  // the status counts what is left out
      take(text, tokens);
    }
  }

  Formatted finish() && {
    for (const Omission& omission : input_.facts.omitted)
      add_to(omitted_, omission);
    return {std::move(text_), std::move(omitted_), next_, is_cut_};
  }

 private:
  struct KeptLine {
    std::string text;
    std::size_t tokens;
    bool is_chosen;
  };

  void choose_kept(std::vector<KeptLine>& lines, const std::vector<std::string>& kept,
                   std::size_t all) {
    const auto choose = [&](KeptLine& line, std::size_t room) {
      if (line.is_chosen || line.tokens > left_ || left_ - line.tokens < room) return;
      line.is_chosen = true;
      left_ -= line.tokens;
    };
    constexpr std::size_t kLastLines = 10;
    if (all > left_) {
      const std::size_t room = left_ / 4;  // for other lines
      for (std::size_t at = 0; at < lines.size(); ++at) {
        if (looks_like_error(kept[at])) choose(lines[at], room);
      }
      for (std::size_t at = lines.size() - std::min(kLastLines, lines.size()); at < lines.size();
           ++at)
        choose(lines[at], 0);
    }
    for (KeptLine& line : lines)
      choose(line, 0);
  }

  // The room that the heads need is not used for details.
  void reserve_heads(const std::vector<FactBlock>& blocks) {
    for (const FactBlock& block : blocks)
      reserved_ += estimate_tokens(block.head);
  }

  void add_detail(const FactBlock& block) {
    if (block.detail.empty()) return;
    const std::size_t tokens = estimate_tokens(block.detail);
    if (tokens + reserved_ <= left_) return take(block.detail, tokens);
    const auto lines = std::count(block.detail.begin(), block.detail.end(), '\n');
    if (hidden_details_ == 0) next_ = line_of(input_, block.needle);
    hidden_details_ += static_cast<std::uint64_t>(lines);
    if (omitted_.empty() || omitted_.back().what != "lines of detail") {
      omitted_.push_back({"lines of detail", 0});
    }
    omitted_.back().lines += static_cast<std::uint64_t>(lines);
  }

  void omit_context(const std::vector<Section>& sections) {
    std::uint64_t context = 0;
    for (const Section& section : sections)
      context += section.lines.size() - section.brief.size();
    if (context == 0) return;
    omitted_.push_back({"context lines", context});
    next_ = next_ == 0 ? input_.first_line + sections.front().first_line + 1 : next_;
  }

  static std::string text_of(const Section& section, const std::vector<std::string>& lines) {
    auto text = as_data(section.head) + "\n";
    for (const std::string& line : lines)
      text += shortened(as_data(line)) + "\n";
    return text;
  }

  void name_unshown(const std::vector<const Section*>& unshown) {
    std::uint64_t lines = 0;
    for (const Section* section : unshown) {
      const auto call = recall_call(input_.recall_id, input_.first_line + section->first_line + 1);
      if (next_ == 0) next_ = input_.first_line + section->first_line + 1;
      lines += section->brief.size();
      const auto text = fmt::format("{} (not shown; {})\n", as_data(section->head), call);
      const std::size_t tokens = estimate_tokens(text);
      if (tokens > left_) {
        ++unnamed_;
        continue;
      }
      take(text, tokens);
    }
    if (lines > 0) omitted_.push_back({"lines of parts not shown", lines});
    if (unnamed_ > 0) omitted_.push_back({"parts not named", unnamed_});
  }

  void stop_at(const std::vector<FactBlock>& blocks, std::size_t at, std::string_view what) {
    std::size_t all = 0;
    std::size_t shown = 0;
    for (std::size_t index = 0; index < blocks.size(); ++index) {
      all += blocks[index].facts;
      if (index < at) shown += blocks[index].facts;
    }
    text_ += fmt::format("shown {} of {} {}; next: {}\n", shown, all, what,
                         recall_call(input_.recall_id, line_of(input_, blocks[at].needle)));
    omitted_.push_back({std::string(what), all - shown});
    left_ = 0;
    is_cut_ = true;
  }

  void take(std::string_view text, std::size_t tokens) {
    text_ += text;
    left_ -= std::min(left_, tokens);
  }

  const FormatInput& input_;
  std::string text_;
  std::vector<Omission> omitted_;
  std::size_t left_;
  std::size_t reserved_ = 0;
  std::size_t next_ = 0;  // line of the first missing fact
  std::uint64_t hidden_details_ = 0;
  std::uint64_t unnamed_ = 0;
  bool is_cut_ = false;
};

}  // namespace

void add_to(std::vector<Omission>& omitted, const Omission& more) {
  const auto found = std::find_if(omitted.begin(), omitted.end(),
                                  [&](const Omission& one) { return one.what == more.what; });
  if (found == omitted.end())
    omitted.push_back(more);
  else
    found->lines += more.lines;
}

Formatted format_facts(const FormatInput& input) {
  Packer packer(input);
  packer.add_blocks(failure_blocks(input.facts.failures), "failures");
  packer.add_diagnostics(input.facts.diagnostics);
  packer.add_kept(input.facts.kept);
  packer.add_sections(input.facts.sections);
  packer.add_unshown(input.facts.unshown);
  return std::move(packer).finish();
}

std::string omission_note(const std::vector<Omission>& omitted) {
  const auto list = list_of(omitted);
  return list.empty() ? "" : fmt::format(" (left out: {})", list);
}

std::string omission_line(const std::vector<Omission>& omitted, const std::string& call) {
  const auto list = list_of(omitted);
  return list.empty() ? "" : fmt::format("(left out: {}; {})\n", list, call);
}

}  // namespace nutshell::compaction
