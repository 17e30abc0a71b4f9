#include "compaction/passing_paragraphs.h"

#include <map>
#include <string_view>

#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

constexpr std::size_t kMostLines = 6;
constexpr std::size_t kFewest = 3;  // paragraphs

bool is_passed(const std::vector<Role>& roles, const LineBlock& paragraph) {
  if (paragraph.lines < 2 || paragraph.lines > kMostLines) return false;
  if (roles[paragraph.first] == Role::Passing) return false;
  std::size_t passing = 0;
  for (std::size_t at = paragraph.first; at < paragraph.first + paragraph.lines; ++at) {
    if (roles[at] == Role::Passing)
      ++passing;
    else if (roles[at] != Role::Plain && roles[at] != Role::Excerpt)
      return false;
  }
  return passing == 1;
}

}  // namespace

std::vector<LineBlock> passing_paragraphs(Lines lines, const std::vector<Role>& roles) {
  std::map<std::string_view, std::vector<LineBlock>> by_word;
  for (std::size_t at = 0; at < lines.size();) {
    std::size_t end = at;
    while (end < lines.size() && roles[end] != Role::Blank)
      ++end;
    const LineBlock paragraph{at, end - at};
    if (is_passed(roles, paragraph)) {
      auto first = lines[at];
      by_word[take_word(first)].push_back(paragraph);
    }
    at = end + 1;
  }
  std::vector<LineBlock> found;
  for (const auto& [word, paragraphs] : by_word) {
    if (paragraphs.size() >= kFewest)
      found.insert(found.end(), paragraphs.begin(), paragraphs.end());
  }
  return found;
}

}  // namespace nutshell::compaction
