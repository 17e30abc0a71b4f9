#include "backends/kubernetes/quantity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace nutshell::kubernetes {
namespace {

TEST(Quantity, IsWrittenExactly) {
  EXPECT_EQ(memory_quantity(512ULL << 20U), "512Mi");
  EXPECT_EQ(memory_quantity(1ULL << 30U), "1Gi");
  EXPECT_EQ(memory_quantity(1536ULL << 20U), "1536Mi");
  EXPECT_EQ(memory_quantity(512'000'000), "500000Ki");
  EXPECT_EQ(memory_quantity(1), "1");
  EXPECT_EQ(memory_quantity(0), "0");
  EXPECT_EQ(memory_quantity(~0ULL), "18446744073709551615");
  EXPECT_EQ(cpu_quantity(1500), "1500m");
  EXPECT_EQ(cpu_quantity(2000), "2");
  EXPECT_EQ(cpu_quantity(1), "1m");
}

TEST(Quantity, IsReadInEveryForm) {
  EXPECT_EQ(parse_memory_quantity("512Mi").value(), 512ULL << 20U);
  EXPECT_EQ(parse_memory_quantity("0.5Gi").value(), 512ULL << 20U);
  EXPECT_EQ(parse_memory_quantity("1.5Ki").value(), 1536U);
  EXPECT_EQ(parse_memory_quantity("129e6").value(), 129'000'000U);
  EXPECT_EQ(parse_memory_quantity("129E+6").value(), 129'000'000U);
  EXPECT_EQ(parse_memory_quantity("129M").value(), 129'000'000U);
  EXPECT_EQ(parse_memory_quantity("1E").value(), 1'000'000'000'000'000'000U);
  EXPECT_EQ(parse_memory_quantity("1000m").value(), 1U);
  EXPECT_EQ(parse_memory_quantity("+7").value(), 7U);
  EXPECT_EQ(parse_memory_quantity("0").value(), 0U);
  EXPECT_EQ(parse_memory_quantity("0.0").value(), 0U);
  EXPECT_EQ(parse_cpu_quantity("0.5").value(), 500U);
  EXPECT_EQ(parse_cpu_quantity("250m").value(), 250U);
  EXPECT_EQ(parse_cpu_quantity("2").value(), 2000U);
  EXPECT_EQ(parse_cpu_quantity("1000000u").value(), 1000U);
}

TEST(Quantity, RefusesFractionsOfTheSmallestPart) {
  const auto half = parse_memory_quantity("512m");
  ASSERT_FALSE(half);
  EXPECT_THAT(half.error().message, testing::HasSubstr("for mebibytes write Mi"));
  EXPECT_FALSE(parse_memory_quantity("0.3Ki"));
  EXPECT_FALSE(parse_cpu_quantity("1u"));
  EXPECT_FALSE(parse_cpu_quantity("5000000000"));
}

TEST(Quantity, RefusesOtherTexts) {
  for (const char* text : {"", " ", "Mi", "-1", "1 Mi", "1mi", "1MiB", "0x10", "1.2.3", "1e",
                           "1e99", "99999999999999999999", "16Ei", "1K", "e3", "."})
    EXPECT_FALSE(parse_memory_quantity(text)) << text;
}

TEST(Quantity, ComesBackAsItWas) {
  std::mt19937_64 random(22);  // NOLINT: the same numbers on every run
  for (int i = 0; i < 2000; ++i) {
    const std::uint64_t bytes = random() >> (random() % 64) << (random() % 40);
    EXPECT_EQ(parse_memory_quantity(memory_quantity(bytes)).value(), bytes);
    const auto millicpus = static_cast<std::uint32_t>(random());
    EXPECT_EQ(parse_cpu_quantity(cpu_quantity(millicpus)).value(), millicpus);
  }
}

}  // namespace
}  // namespace nutshell::kubernetes
