// Reads and checks the TOML file of a renderer; see user_renderer.h.
#pragma once

#include <re2/re2.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace nutshell::compaction {

using Pattern = std::unique_ptr<RE2>;

struct Replacement {
  Pattern pattern;
  std::string with;  // \1 is the first group of the pattern
};

// Joins the lines that match into one: the label, their number, and the distinct first groups.
struct Grouping {
  Pattern pattern;
  std::string label;
};

struct Counter {
  Pattern pattern;
  std::string word;  // "resources", for the status line
};

// Lines that are kept together: from one that matches `start` to one that matches `until`, or up to
// a blank line if that is unset.
struct BlockRule {
  Pattern start;
  Pattern until;
};

struct RendererTest {
  std::string name;
  std::string command;
  std::string input;
  std::int64_t exit_code = 0;
  std::string expect;  // what the renderer makes of it, line by line
};

struct RendererRules {
  std::string name;
  std::vector<std::string> command;  // first words of the command; empty: any
  Pattern output;                    // must match a line; unset: any output
  std::vector<Replacement> replace;
  std::vector<Pattern> keep;  // empty: every line
  std::vector<Pattern> drop;
  std::vector<Pattern> heading;  // shown if a line below it is
  std::vector<Pattern> summary;  // always shown
  std::vector<BlockRule> block;
  bool folds = false;  // like lines below the same heading become one
  std::vector<Grouping> group;
  std::vector<Counter> count;
  std::optional<std::size_t> head;
  std::optional<std::size_t> tail;
  std::string on_empty;
  std::vector<RendererTest> tests;
};

Result<RendererRules> read_rules(std::string_view toml, std::string_view file);

}  // namespace nutshell::compaction
