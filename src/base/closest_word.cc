#include "base/closest_word.h"

#include <algorithm>

#include "base/edit_distance.h"

namespace nutshell {

std::string closest_word(std::string_view word, const std::vector<std::string>& candidates) {
  const auto begins = [&](const std::string& candidate) { return candidate.starts_with(word); };
  if (word.size() > 2 && std::count_if(candidates.begin(), candidates.end(), begins) == 1)
    return *std::find_if(candidates.begin(), candidates.end(), begins);
  std::string best;
  std::size_t least = word.size() / 2 + 1;  // a candidate further away is a guess
  for (const std::string& candidate : candidates) {
    const bool is_part = word.size() > 2 && (candidate.find(word) != std::string::npos ||
                                             word.find(candidate) != std::string::npos);
    const std::size_t distance = is_part ? 1 : edit_distance(word, candidate, least - 1);
    if (distance >= least) continue;
    least = distance;
    best = candidate;
  }
  return best;
}

}  // namespace nutshell
