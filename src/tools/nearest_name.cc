#include "tools/nearest_name.h"

#include <algorithm>

namespace nutshell {
namespace {

constexpr std::size_t kMostLength = 64;  // nobody means a longer one

// How many letters were added, left out or mistaken.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string nearest_name(std::string_view word, const std::vector<std::string>& candidates) {
  if (word.size() > kMostLength) return {};
  std::string best;
  std::size_t least = word.size() / 2 + 1;  // anything further is a guess
  for (const std::string& candidate : candidates) {
    const bool is_part = word.size() > 2 && (candidate.find(word) != std::string::npos ||
                                             word.find(candidate) != std::string::npos);
    const std::size_t far = is_part ? 1 : distance(word, candidate);
    if (far >= least) continue;
    least = far;
    best = candidate;
  }
  return best;
}

}  // namespace nutshell
