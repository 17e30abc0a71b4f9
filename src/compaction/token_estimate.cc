#include <algorithm>
#include <array>
#include <cmath>

#include "compaction/compactor.h"
#include "compaction/token_pieces.h"

namespace nutshell::compaction {
namespace {

// Longer texts are estimated from evenly spread samples of this many bytes.
constexpr std::size_t kWholeBytes = 128U << 10U;
constexpr std::size_t kSamples = 32;
constexpr std::size_t kSampleBytes = kWholeBytes / kSamples;

// Tokens per piece, fitted by least squares to o200k over outputs of the tools that are compacted.
constexpr std::array<double, kPieceKinds> kWeights = {
#include "compaction/token_weights.inc"
};

double weigh(std::string_view text) {
  double tokens = 0;
  for_each_piece(text, [&](std::size_t kind) { tokens += kWeights[kind]; });
  return tokens;
}

}  // namespace

std::size_t estimate_tokens(std::string_view text) {
  if (text.size() <= kWholeBytes) return static_cast<std::size_t>(std::lround(weigh(text)));
  double tokens = 0;
  for (std::size_t sample = 0; sample < kSamples; ++sample) {
    const std::size_t at = (text.size() - kSampleBytes) / (kSamples - 1) * sample;
    tokens += weigh(text.substr(at, kSampleBytes));
  }
  const double share = static_cast<double>(text.size()) / static_cast<double>(kWholeBytes);
  return static_cast<std::size_t>(std::lround(tokens * share));
}

}  // namespace nutshell::compaction
