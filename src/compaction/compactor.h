// Turns a command's output into the text that a model reads: cleans, recognises, parses, formats
// within the budget and looks for lost error lines. The text is never longer than the output.
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
  Native,    // the output unchanged, cut only by the budget
};

struct RenderOptions {
  Style style = Style::Nutshell;
  std::size_t max_tokens = 6000;
  std::span<const UserRenderer> renderers = {};  // asked before the typed parsers, in this order
  std::string_view only_renderer = {};           // if set, use this one for any command
};

struct Rendering {
  std::string text;               // what a model reads
  std::string parser;             // "pytest", "generic", "native", "user:NAME"
  std::string reason;             // why this parser was used and others were not
  std::vector<Omission> omitted;  // all that is not in the text
  std::size_t raw_tokens = 0;     // estimated, of the captured bytes
  std::size_t tokens = 0;         // estimated, of the text
};

Rendering render(const Captured& captured, const RenderOptions& options);

// Estimates the o200k tokens of a text; tests keep the error within 5 % over the corpus.
std::size_t estimate_tokens(std::string_view text);

}  // namespace nutshell::compaction
