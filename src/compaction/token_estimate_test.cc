#include <gtest/gtest.h>

#include <array>

#include "compaction/compactor.h"

namespace nutshell::compaction {
namespace {

// Texts with the number of tokens o200k has for them.
struct Counted {
  std::string_view text;
  std::size_t tokens;
};

constexpr std::array<Counted, 7> kCounted = {{
#include "compaction/token_samples.inc"
}};

TEST(TokenEstimate, IsCloseInSum) {
  double estimated = 0;
  double counted = 0;
  for (const Counted& sample : kCounted) {
    estimated += static_cast<double>(estimate_tokens(sample.text));
    counted += static_cast<double>(sample.tokens);
  }
  EXPECT_NEAR(estimated / counted, 1.0, 0.05);
}

TEST(TokenEstimate, JsonIsCloseToo) {
  const Counted& json = kCounted.back();
  const auto estimated = static_cast<double>(estimate_tokens(json.text));
  EXPECT_NEAR(estimated / static_cast<double>(json.tokens), 1.0, 0.05);
}

TEST(TokenEstimate, LettersWithoutABlankCostMoreThanOneToken) {
  EXPECT_GE(estimate_tokens(std::string(4000, 'x')), 500U);
  EXPECT_LE(estimate_tokens(std::string(4000, '-')), 500U);
}

TEST(TokenEstimate, BlanksBeforeANumberAreTwoTokens) {
  EXPECT_EQ(estimate_tokens("x     1"), 4U);
  EXPECT_EQ(estimate_tokens("x     y"), 3U);
}

TEST(TokenEstimate, LongTextIsJudgedBySamples) {
  std::string text;
  while (text.size() < (8U << 20U))
    text += kCounted[0].text;
  const auto whole = static_cast<double>(estimate_tokens(kCounted[0].text)) *
                     static_cast<double>(text.size()) /
                     static_cast<double>(kCounted[0].text.size());
  EXPECT_NEAR(static_cast<double>(estimate_tokens(text)) / whole, 1.0, 0.02);
}

TEST(TokenEstimate, NothingIsNothing) {
  EXPECT_EQ(estimate_tokens(""), 0U);
}

}  // namespace
}  // namespace nutshell::compaction
