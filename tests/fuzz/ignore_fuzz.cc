#include <cstdlib>
#include <string>

#include "entry_points.h"
#include "init/search/glob.h"
#include "init/search/ignore_rules.h"

namespace nutshell::fuzz {
namespace {

std::string_view take_line(std::string_view& input) {
  const std::size_t end = std::min(input.find('\n'), input.size());
  const std::string_view line = input.substr(0, end);
  input.remove_prefix(std::min(end + 1, input.size()));
  return line;
}

}  // namespace

// First line: a path; second: a glob; the rest: an ignore file.
void fuzz_ignore(std::string_view input) {
  using namespace init::search;
  const std::string_view path = take_line(input);
  const std::string_view pattern = take_line(input);
  const std::string_view name = path.substr(path.rfind('/') + 1);
  const auto filter = GlobFilter::parse(pattern);
  if (filter) {
    // The inverted pattern gives the opposite answer.
    const auto opposite = GlobFilter::parse("!" + std::string(pattern));
    const bool is_plain = !pattern.empty() && !pattern.starts_with('!') && !pattern.ends_with('/');
    if (is_plain && opposite && opposite->accepts(path, name) == filter->accepts(path, name)) {
      std::abort();
    }
  }
  IgnoreLevel level;
  for (IgnoreRules& rules : level.rules)
    rules = IgnoreRules::parse(input);
  const bool is_left_out = is_ignored(&level, path, name, EntryKind::Other);
  const auto verdict = level.rules[0].judge(path, name, EntryKind::Other);
  if (is_left_out != (verdict == IgnoreRules::Verdict::Ignored)) std::abort();
}

}  // namespace nutshell::fuzz
