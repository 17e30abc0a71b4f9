// From what a command printed to what a model reads: clean, recognise, parse, format within the
// budget, scan for error lines that got lost, and never be longer than the original.
// Stateless and thread-safe.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compaction/captured.h"
#include "compaction/facts.h"

namespace nutshell::compaction {

class UserRenderer;

enum class Style {
  Nutshell,  // few tokens, every fact
  Native,    // what was printed, cleaned of nothing, cut only by the budget
};

struct RenderOptions {
  Style style = Style::Nutshell;
  std::size_t max_tokens = 6000;
  std::span<const UserRenderer> renderers = {};  // asked before the typed parsers, in this order
  std::string_view only_renderer = {};           // of `renderers`, whatever the command was
};

struct Rendering {
  std::string text;               // what a model reads
  std::string parser;             // "pytest", "generic", "native", "user:NAME"
  std::string reason;             // why this parser, and why not another
  std::vector<Omission> omitted;  // all that is not in the text
  std::size_t raw_tokens = 0;     // estimated, of the captured bytes
  std::size_t tokens = 0;         // estimated, of the text
};

Rendering render(const Captured& captured, const RenderOptions& options);

// Tokens of o200k in this text, by an estimate that tests hold to 5 % over the corpus.
std::size_t estimate_tokens(std::string_view text);

}  // namespace nutshell::compaction
