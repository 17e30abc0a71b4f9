#include "base/edit_distance.h"

#include <algorithm>
#include <vector>

namespace nutshell {
namespace {

constexpr std::size_t kMostLength = 255;  // of a file name; the work grows with its square

}  // namespace

std::size_t edit_distance(std::string_view left, std::string_view right, std::size_t most) {
  const std::size_t gap =
      left.size() > right.size() ? left.size() - right.size() : right.size() - left.size();
  if (gap > most || std::max(left.size(), right.size()) > kMostLength) return most + 1;
  std::vector<std::size_t> before_last;
  std::vector<std::size_t> last(right.size() + 1);
  for (std::size_t j = 0; j < last.size(); ++j)
    last[j] = j;
  for (std::size_t i = 1; i <= left.size(); ++i) {
    std::vector<std::size_t> row(right.size() + 1);
    row[0] = i;
    for (std::size_t j = 1; j <= right.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (left[i - 1] == right[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, last[j] + 1, row[j - 1] + 1});
      const bool is_swapped =
          i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1];
      if (is_swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last = std::move(last);
    last = std::move(row);
  }
  return last[right.size()];
}

}  // namespace nutshell
