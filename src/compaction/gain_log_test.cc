#include "compaction/gain_log.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/scratch_fixture.h"

namespace nutshell::compaction {
namespace {

TEST(GainLog, SumsPerCommandSessionAndAll) {
  const ScratchDirectory scratch;
  const GainLog log(scratch / "state/gain.jsonl");
  ASSERT_TRUE(log.append({"git status", "s1", "git status", 200, 100}));
  ASSERT_TRUE(log.append({"cargo test", "s1", "cargo", 1000, 100}));
  ASSERT_TRUE(log.append({"git status", "s2", "git status", 200, 100}));
  const auto report = log.read();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->all.calls, 3U);
  EXPECT_EQ(report->all.raw_tokens, 1400U);
  EXPECT_EQ(report->all.tokens, 300U);
  ASSERT_EQ(report->commands.size(), 2U);
  EXPECT_EQ(report->commands[0].name, "cargo test");
  EXPECT_DOUBLE_EQ(report->commands[0].saved(), 90);
  EXPECT_EQ(report->commands[1].calls, 2U);
  EXPECT_EQ(report->sessions.size(), 2U);
}

TEST(GainLog, KnownAndUnknownCommandsAreApart) {
  const ScratchDirectory scratch;
  const GainLog log(scratch / "gain.jsonl");
  ASSERT_TRUE(log.append({"git status", "s", "git status", 200, 100}));
  ASSERT_TRUE(log.append({"git status", "s", "whole", 20, 20}));  // too short for its parser
  ASSERT_TRUE(log.append({"make test", "s", "outline+pytest", 300, 30}));
  ASSERT_TRUE(log.append({"terraform plan", "s", "user:plan", 400, 40}));
  ASSERT_TRUE(log.append({"frob all", "s", "outline+whole", 1000, 500}));
  ASSERT_TRUE(log.append({"frob one", "s", "generic", 100, 50}));
  ASSERT_TRUE(log.append({"cat x", "s", "native", 10, 10}));
  const auto report = log.read();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->known.calls, 4U);
  EXPECT_EQ(report->known.raw_tokens, 920U);
  EXPECT_EQ(report->known.tokens, 190U);
  EXPECT_EQ(report->unknown.calls, 3U);
  EXPECT_EQ(report->unknown.raw_tokens, 1110U);
  EXPECT_EQ(report->all.raw_tokens, 2030U);
}

TEST(GainLog, NoFileIsNothingSaved) {
  const ScratchDirectory scratch;
  const auto report = GainLog(scratch / "gain.jsonl").read();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->all.calls, 0U);
}

TEST(GainLog, TornLinesAreSkipped) {
  const ScratchDirectory scratch;
  const GainLog log(scratch / "gain.jsonl");
  ASSERT_TRUE(log.append({"ls", "s", "ls", 10, 5}));
  ASSERT_TRUE(write_file(scratch / "gain.jsonl", *read_file(scratch / "gain.jsonl") +
                                                     "{\"command\":\"x\",\"ra\n[1]\n\xff\n"));
  ASSERT_TRUE(log.append({"ls", "s", "ls", 10, 5}));
  const auto report = log.read();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->all.calls, 2U);
  EXPECT_EQ(report->torn_lines, 3U);
}

TEST(GainLog, FileIsBounded) {
  const ScratchDirectory scratch;
  const GainLog log(scratch / "gain.jsonl", 1000);
  for (int call = 0; call < 100; ++call)
    ASSERT_TRUE(log.append({"ls", "s", "ls", 10, 5}));
  EXPECT_LE(std::filesystem::file_size(scratch / "gain.jsonl"), 1000U);
  EXPECT_LE(std::filesystem::file_size(scratch / "gain.jsonl.1"), 1000U);
  const auto report = log.read();
  ASSERT_TRUE(report);
  EXPECT_GT(report->all.calls, 5U);
}

}  // namespace
}  // namespace nutshell::compaction
