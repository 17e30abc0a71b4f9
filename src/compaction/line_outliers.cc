#include "compaction/line_outliers.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "compaction/like_lines.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

constexpr std::size_t kFewestRows = 20;  // lines with equally many words
constexpr std::size_t kFewestWords = 3;
constexpr std::size_t kMostWords = 40;
constexpr std::size_t kRareShare = 20;  // a form is rare if at most 1/n of the lines have it
constexpr std::size_t kMostShare = 10;  // more than 1/n of the lines cannot all stand out
constexpr std::size_t kMostOutliers = 60;

bool is_number(std::string_view word) {
  return !word.empty() && is_digit(word.front()) &&
         word.find_first_not_of("0123456789.,%") == std::string_view::npos;
}

using Found = std::vector<std::size_t>;

// Lines whose words are like those of few others.
Found rare_forms(Lines lines, const std::vector<bool>& is_asked) {
  std::unordered_map<std::uint64_t, Found> forms;
  std::size_t asked = 0;
  for (std::size_t at = 0; at < lines.size(); ++at) {
    if (!is_asked[at]) continue;
    ++asked;
    forms[likeness_of(lines[at])].push_back(at);
  }
  const std::size_t few = std::max<std::size_t>(2, asked / kRareShare);
  Found found;
  for (const auto& [form, members] : forms) {
    if (members.size() <= few) found.insert(found.end(), members.begin(), members.end());
  }
  return found.size() * kMostShare > asked ? Found() : found;
}

using Words = std::vector<std::string_view>;

// Rows with a value that few others have, in a column where a few values are those of nearly all.
void mark_rare_values(const std::vector<Words>& rows, std::size_t column,
                      std::vector<bool>& is_rare) {
  constexpr std::size_t kMostValues = 8;
  std::unordered_map<std::string_view, std::size_t> counts;
  for (const Words& row : rows) {
    ++counts[row[column]];
    if (counts.size() > kMostValues + rows.size() / kRareShare + 2) return;
  }
  const std::size_t few = std::max<std::size_t>(1, rows.size() / kRareShare);
  std::size_t usual = 0;
  for (const auto& [value, count] : counts)
    usual += count > few ? count : 0;
  if (usual * 20 < rows.size() * 19) return;
  for (std::size_t at = 0; at < rows.size(); ++at) {
    if (counts[rows[at][column]] <= few) is_rare[at] = true;
  }
}

// The row with a number far above all others.
void mark_largest(const std::vector<Words>& rows, std::size_t column, std::vector<bool>& is_rare) {
  double first = 0;
  double second = 0;
  double sum = 0;
  std::size_t row = 0;
  for (std::size_t at = 0; at < rows.size(); ++at) {
    if (!is_number(rows[at][column])) return;
    const double value = std::strtod(std::string(rows[at][column]).c_str(), nullptr);
    sum += value;
    if (value > first) {
      second = std::exchange(first, value);
      row = at;
    } else {
      second = std::max(second, value);
    }
  }
  const double mean = (sum - first) / static_cast<double>(rows.size());
  if (first >= 10 && first >= 4 * second && first >= 10 * mean) is_rare[row] = true;
}

// Rows of a table that stand out by one of their words.
Found rare_rows(Lines lines, const std::vector<bool>& is_asked) {
  std::map<std::size_t, Found> by_words;
  for (std::size_t at = 0; at < lines.size(); ++at) {
    if (!is_asked[at]) continue;
    const std::size_t words = split_words(lines[at]).size();
    if (words >= kFewestWords && words <= kMostWords) by_words[words].push_back(at);
  }
  Found found;
  for (const auto& [words, numbers] : by_words) {
    if (numbers.size() < kFewestRows) continue;
    std::vector<Words> rows;
    for (const std::size_t at : numbers)
      rows.push_back(split_words(lines[at]));
    std::vector<bool> is_rare(rows.size(), false);
    for (std::size_t column = 0; column < words; ++column) {
      mark_rare_values(rows, column, is_rare);
      mark_largest(rows, column, is_rare);
    }
    const auto rare = static_cast<std::size_t>(std::count(is_rare.begin(), is_rare.end(), true));
    for (std::size_t at = 0; at < rows.size() && rare * kMostShare <= rows.size(); ++at) {
      if (is_rare[at]) found.push_back(numbers[at]);
    }
  }
  return found;
}

}  // namespace

std::vector<bool> find_outliers(Lines lines, const std::vector<bool>& is_asked) {
  auto found = rare_forms(lines, is_asked);
  const auto rows = rare_rows(lines, is_asked);
  found.insert(found.end(), rows.begin(), rows.end());
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  if (found.size() > kMostOutliers) found.resize(kMostOutliers);
  std::vector<bool> is_outlier(lines.size(), false);
  for (const std::size_t at : found)
    is_outlier[at] = true;
  return is_outlier;
}

}  // namespace nutshell::compaction
