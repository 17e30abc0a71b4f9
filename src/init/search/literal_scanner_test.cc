#include "init/search/literal_scanner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <random>

namespace nutshell::init::search {
namespace {

std::string lowered(std::string text) {
  for (char& byte : text)
    if (byte >= 'A' && byte <= 'Z') byte = static_cast<char>(byte | 0x20);
  return text;
}

TEST(LiteralScanner, FindsTheFirstPlace) {
  const LiteralScanner scanner("needle", LetterCase::Exact);
  EXPECT_EQ(scanner.find("a needle, a needle", 0), 2U);
  EXPECT_EQ(scanner.find("a needle, a needle", 3), 12U);
  EXPECT_EQ(scanner.find("a Needle", 0), std::string_view::npos);
  EXPECT_EQ(scanner.find("needl", 0), std::string_view::npos);
  EXPECT_EQ(scanner.find("", 0), std::string_view::npos);
}

TEST(LiteralScanner, FoldsLettersAndNothingElse) {
  const LiteralScanner scanner("a[1_Z", LetterCase::Folded);
  EXPECT_EQ(scanner.find("xxA[1_z", 0), 2U);
  EXPECT_EQ(scanner.find("xxa{1_z", 0), std::string_view::npos);     // '{' is '[' with the case bit
  EXPECT_EQ(scanner.find("xxa[1\x7Fz", 0), std::string_view::npos);  // as is DEL for '_'
}

// Uses few letters, so that there are many near misses, and texts that end anywhere in a block.
TEST(LiteralScanner, AgreesWithThePlainWay) {
  std::mt19937 random(1);  // NOLINT(cert-msc51-cpp): the same texts every time
  for (int round = 0; round < 20'000; ++round) {
    const std::size_t size = random() % 300;
    // Exactly as long as the text, so that a sanitizer sees a read behind it.
    const auto bytes = std::make_unique<char[]>(size);
    for (std::size_t i = 0; i < size; ++i)
      bytes[i] = "aAbB\n"[random() % 5];
    const std::string_view text(bytes.get(), size);
    std::string literal;
    for (std::size_t i = 0; i < 1 + random() % 8; ++i)
      literal += "aAbB"[random() % 4];
    const std::size_t from = random() % (size + 2);
    const LiteralScanner exact(literal, LetterCase::Exact);
    EXPECT_EQ(exact.find(text, from), text.find(literal, from));
    EXPECT_EQ(exact.find_plainly(text, from), text.find(literal, from));
    const LiteralScanner folded(literal, LetterCase::Folded);
    const std::size_t expected = lowered(std::string(text)).find(lowered(literal), from);
    EXPECT_EQ(folded.find(text, from), expected);
    EXPECT_EQ(folded.find_plainly(text, from), expected);
  }
}

}  // namespace
}  // namespace nutshell::init::search
