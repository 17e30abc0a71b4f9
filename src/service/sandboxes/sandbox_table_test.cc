#include "service/sandboxes/sandbox_table.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace nutshell::service {
namespace {

SandboxEntry entry(const std::string& id, const std::string& tenant) {
  SandboxEntry made;
  made.id = id;
  made.op = "op" + id;
  made.tenant = tenant;
  made.deadline = Clock::now() + std::chrono::hours(1);
  return made;
}

class TableTest : public testing::Test {
 protected:
  CurrentRules rules_{TenantRules()};
  Accounts accounts_{rules_};
  SandboxTable table_{accounts_};
};

TEST_F(TableTest, GivesBackWhatASandboxWasChargedWhenItIsRemoved) {
  SandboxEntry made = entry("naaaaaaaaaaaa", "a");
  auto charges = accounts_.take_sandbox("a", made.spec.limits, 100);
  ASSERT_TRUE(charges);
  table_.insert(made, std::move(*charges));
  EXPECT_EQ(accounts_.of("a", Resource::Sandboxes).used(), 1U);
  EXPECT_EQ(accounts_.of("a", Resource::Processes).used(), made.spec.limits.processes);
  table_.adopt(made);  // found again: counted once
  EXPECT_EQ(accounts_.of("a", Resource::Sandboxes).used(), 1U);
  table_.remove("naaaaaaaaaaaa");
  for (const ResourceInfo& info : resources())
    EXPECT_EQ(accounts_.of("a", info.resource).used(), 0U) << info.name;
}

TEST_F(TableTest, ChargesATenantForASandboxOfAPoolOnceItIsHandedOut) {
  table_.adopt(entry("naaaaaaaaaaaa", ""));
  SandboxEntry owned = entry("naaaaaaaaaaaa", "a");
  TenantRules changed;
  changed.quotas["none"] = Quota();
  rules_.replace(changed);
  EXPECT_FALSE(table_.bind("naaaaaaaaaaaa", entry("naaaaaaaaaaaa", "none")));
  EXPECT_TRUE(table_.copy_of("naaaaaaaaaaaa")->tenant.empty());
  ASSERT_TRUE(table_.bind("naaaaaaaaaaaa", owned));
  EXPECT_EQ(accounts_.of("a", Resource::Memory).used(), owned.spec.limits.memory_bytes);
  EXPECT_EQ(accounts_.of("", Resource::Memory).used(), 0U);
  table_.unbind("naaaaaaaaaaaa");
  EXPECT_EQ(accounts_.of("a", Resource::Memory).used(), 0U);
  EXPECT_EQ(accounts_.of("", Resource::Sandboxes).used(), 1U);
}

TEST_F(TableTest, SaysTheSameOfAnothersSandboxAndOfNone) {
  table_.adopt(entry("naaaaaaaaaaaa", "a"));
  const auto others = table_.find("b", "naaaaaaaaaaaa");
  const auto nobodys = table_.find("b", "naaaaaaaaaaab");
  ASSERT_FALSE(others);
  ASSERT_FALSE(nobodys);
  EXPECT_EQ(others.error().code, nobodys.error().code);
  std::string same = nobodys.error().message;
  same.replace(same.find("naaaaaaaaaaab"), 13, "naaaaaaaaaaaa");
  EXPECT_EQ(others.error().message, same);
  // Nor by a beginning that is ambiguous only with the other's.
  table_.adopt(entry("naaaaaaaaaaac", "b"));
  EXPECT_EQ(table_.find("b", "naaa")->id, "naaaaaaaaaaac");
}

TEST_F(TableTest, TakesNoTricksForAnId) {
  table_.adopt(entry("naaaaaaaaaaaa", "a"));
  for (const char* id : {"", "n", "../aaaaaaaaaa", "naaaaaaaaaaaa/", "NAAAAAAAAAAAA",
                         "%6eaaaaaaaaaa", "naaaaaaaaaaaaa"})
    EXPECT_FALSE(table_.find("a", id)) << id;
  EXPECT_FALSE(table_.find("", "naaaaaaaaaaaa"));
}

TEST_F(TableTest, GivesPagesWithoutGaps) {
  for (int i = 0; i < 25; ++i)
    table_.adopt(entry("bbbbbbbbbb" + std::to_string(10 + i), i % 5 == 4 ? "x" : "a"));
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
  SandboxEntry labelled = entry("ncccccccccccc", "a");
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
