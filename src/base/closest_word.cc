#include "base/closest_word.h"

#include <algorithm>

namespace nutshell {
namespace {

// Counts letters that were added, left out, mistaken or swapped with their neighbour.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> table(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        table[i][j] = i + j;
        continue;
      }
      const std::size_t substituted = table[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      table[i][j] = std::min({table[i - 1][j] + 1, table[i][j - 1] + 1, substituted});
      const bool is_swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (is_swapped) table[i][j] = std::min(table[i][j], table[i - 2][j - 2] + 1);
    }
  }
  return table[a.size()][b.size()];
}

}  // namespace

std::string closest_word(std::string_view word, const std::vector<std::string>& candidates) {
  // A word that begins only one of the candidates is that one, cut short.
  const auto begins = [&](const std::string& candidate) { return candidate.starts_with(word); };
  if (word.size() > 2 && std::count_if(candidates.begin(), candidates.end(), begins) == 1) {
    return *std::find_if(candidates.begin(), candidates.end(), begins);
  }
  std::string best;
  std::size_t least = word.size() / 2 + 1;  // anything further is a guess
  for (const std::string& candidate : candidates) {
    const std::size_t far = distance(word, candidate);
    if (far >= least) continue;
    least = far;
    best = candidate;
  }
  return best;
}

}  // namespace nutshell
