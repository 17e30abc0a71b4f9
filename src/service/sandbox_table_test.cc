#include "service/sandbox_table.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace nutshell::service {
namespace {

Held held(const std::string& id, const std::string& tenant) {
  Held made;
  made.id = id;
  made.op = "op" + id;
  made.tenant = tenant;
  made.deadline = Clock::now() + std::chrono::hours(1);
  return made;
}

class TableTest : public testing::Test {
 protected:
  ServiceOptions options_;
  SandboxTable table_{options_};
};

TEST_F(TableTest, CountsQuotasExactlyUnderConcurrency) {
  options_.default_quota.sandboxes = 10;
  std::atomic<int> got = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        for (int n = 0; n < 100; ++n)
          got += table_.reserve("t", Limits{}) ? 1 : 0;
      });
    }
  }
  EXPECT_EQ(got, 10);
  table_.unreserve("t", Limits{});
  EXPECT_TRUE(table_.reserve("t", Limits{}));
  EXPECT_FALSE(table_.reserve("t", Limits{}));
  EXPECT_TRUE(table_.reserve("other", Limits{}));
}

TEST_F(TableTest, KeepsTheSumsOfMemoryAndCpu) {
  options_.default_quota.memory_bytes = 1000;
  options_.default_quota.millicpus = 3000;
  Limits limits;
  limits.memory_bytes = 600;
  EXPECT_TRUE(table_.reserve("t", limits));
  EXPECT_FALSE(table_.reserve("t", limits));
  limits.memory_bytes = 100;
  limits.millicpus = 2500;
  EXPECT_FALSE(table_.reserve("t", limits));
  limits.memory_bytes = UINT64_MAX;
  EXPECT_FALSE(table_.reserve("t", limits));
}

TEST_F(TableTest, ATenantWithAQuotaOfZeroGetsNothing) {
  options_.quotas["none"].sandboxes = 0;
  EXPECT_FALSE(table_.reserve("none", Limits{}));
}

TEST_F(TableTest, SaysTheSameOfAnothersSandboxAndOfNone) {
  table_.adopt(held("aaaaaaaaaaaa", "a"));
  const auto others = table_.find("b", "aaaaaaaaaaaa");
  const auto nobodys = table_.find("b", "aaaaaaaaaaab");
  ASSERT_FALSE(others);
  ASSERT_FALSE(nobodys);
  EXPECT_EQ(others.error().code, nobodys.error().code);
  std::string same = nobodys.error().message;
  same.replace(same.find("aaaaaaaaaaab"), 12, "aaaaaaaaaaaa");
  EXPECT_EQ(others.error().message, same);
  // Nor by a beginning that is ambiguous only with the other's.
  table_.adopt(held("aaaaaaaaaaac", "b"));
  EXPECT_EQ(table_.find("b", "aaaa")->id, "aaaaaaaaaaac");
}

TEST_F(TableTest, TakesNoTricksForAnId) {
  table_.adopt(held("aaaaaaaaaaaa", "a"));
  for (const char* id :
       {"", "a", "../aaaaaaaaa", "aaaaaaaaaaaa/", "AAAAAAAAAAAA", "%61aaaaaaaaaa", "aaaaaaaaaaaaa"})
    EXPECT_FALSE(table_.find("a", id)) << id;
  EXPECT_FALSE(table_.find("", "aaaaaaaaaaaa"));
}

TEST_F(TableTest, GivesPagesWithoutGaps) {
  for (int i = 0; i < 25; ++i)
    table_.adopt(held("bbbbbbbbbb" + std::to_string(10 + i), i % 5 == 4 ? "x" : "a"));
  ListRequest request;
  request.most = 6;
  std::vector<std::string> ids;
  for (;;) {
    const SandboxPage page = table_.list("a", request);
    for (const SandboxView& view : page.sandboxes)
      ids.push_back(view.id);
    if (page.next_cursor.empty()) break;
    request.cursor = page.next_cursor;
  }
  EXPECT_EQ(ids.size(), 20U);
  EXPECT_TRUE(std::is_sorted(ids.begin(), ids.end()));
}

TEST_F(TableTest, TakesALabelLiterally) {
  Held labelled = held("cccccccccccc", "a");
  labelled.spec.labels["k"] = "%' OR '1'='1";
  table_.adopt(labelled);
  ListRequest request;
  request.labels["k"] = "%";
  EXPECT_TRUE(table_.list("a", request).sandboxes.empty());
  request.labels["k"] = "%' OR '1'='1";
  EXPECT_EQ(table_.list("a", request).sandboxes.size(), 1U);
}

}  // namespace
}  // namespace nutshell::service
