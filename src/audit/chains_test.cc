#include "audit/chains.h"

#include <gmock/gmock.h>

#include "audit/record_fixture.h"

namespace nutshell::audit {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ChainsTest : public RecordTest {
 protected:
  std::unique_ptr<Chains> open_all() {
    auto chains = Chains::open(options_, "local",
                               [this](std::string_view text) { notices_.emplace_back(text); });
    EXPECT_TRUE(chains) << chains.error().message;
    return chains ? std::move(*chains) : nullptr;
  }
  static Entry by(const std::string& tenant, const std::string& action,
                  const std::string& detail = "") {
    Entry entry;
    entry.tenant = tenant;
    entry.who = "w";
    entry.action = action;
    entry.outcome = "ok";
    entry.detail = detail;
    return entry;
  }
  std::vector<std::string> actions_of(const Filter& filter) {
    std::vector<std::string> actions;
    EXPECT_TRUE(for_each_record_of_all(options_.directory, filter,
                                       [&actions](const Record& record) -> Result<Visit> {
                                         actions.push_back(record.entry.action);
                                         return Visit::GoOn;
                                       }));
    return actions;
  }
};

TEST_F(ChainsTest, ShowTheRecordsOfAllInTheOrderOfTime) {
  const auto chains = open_all();
  for (const auto& [tenant, action] : std::vector<std::pair<std::string, std::string>>{
           {"local", "1"}, {"a", "2"}, {"", "3"}, {"b/../c", "4"}, {"", kDenied}, {"a", "5"}})
    ASSERT_TRUE(chains->append(by(tenant, action)));
  EXPECT_THAT(actions_of({}), ElementsAre("1", "2", "3", "4", kDenied, "5"));
  EXPECT_THAT(actions_of({.tenant = "a"}), ElementsAre("2", "5"));
  EXPECT_THAT(actions_of({.tenant = "b/../c"}), ElementsAre("4"));
  EXPECT_THAT(actions_of({.tenant = "local"}), ElementsAre("1"));
  EXPECT_THAT(actions_of({.most = 2}), ElementsAre("1", "2"));
  EXPECT_EQ(list_chains(options_.directory)->size(), 4U);
}

TEST_F(ChainsTest, ATenantPushesOutNothingButItsOwn) {
  options_.tenant_bytes = 256U << 10U;
  const auto chains = open_all();
  ASSERT_TRUE(chains->append(by("honest", "kept")));
  ASSERT_TRUE(chains->append(by("local", "kept")));
  const std::string much(100'000, 'x');
  for (int i = 0; i < 40; ++i) {
    ASSERT_TRUE(chains->append(by("attacker", "flood", much)));
    ASSERT_TRUE(chains->append(by("", kDenied, much)));
  }
  EXPECT_THAT(actions_of({.tenant = "honest"}), ElementsAre("kept"));
  EXPECT_THAT(actions_of({.tenant = "local"}), ElementsAre("kept"));
  EXPECT_LT(actions_of({.tenant = "attacker"}).size(), 10U);
  std::uintmax_t bytes = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(options_.directory))
    bytes += file.is_regular_file() ? file.file_size() : 0;
  EXPECT_LT(bytes, 1U << 20U);
  const auto all = list_chains(options_.directory);
  ASSERT_TRUE(all);
  for (const Chain& chain : *all) {
    const auto verdict = verify(chain.directory);
    ASSERT_TRUE(verdict);
    EXPECT_EQ(verdict->finding, Verdict::Finding::Intact) << chain.name << verdict->problem;
    EXPECT_EQ(verdict->first_id > 1, chain.name == "denied" || chain.name == "tenant attacker");
  }
}

TEST_F(ChainsTest, AMarkOfRemovedEntriesProvesNothing) {
  options_.tenant_bytes = 256U << 10U;
  const auto chains = open_all();
  ASSERT_TRUE(chains->append(by("a", "first")));
  const auto directory = chain_of(options_.directory, "a");
  const Mark mark = verify(directory)->last;
  for (int i = 0; i < 40; ++i)
    ASSERT_TRUE(chains->append(by("a", "flood", std::string(100'000, 'x'))));
  const auto verdict = verify(directory, mark);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->finding, Verdict::Finding::Missing);
  EXPECT_THAT(verdict->problem, HasSubstr("want of room"));
}

TEST_F(ChainsTest, GoOnWhereTheyEnded) {
  for (int run = 0; run < 3; ++run) {
    const auto chains = open_all();
    const auto id = chains->append(by("a", "again"));
    ASSERT_TRUE(id);
    EXPECT_EQ(*id, static_cast<std::uint64_t>(run) + 1);
  }
  EXPECT_THAT(notices_, IsEmpty());
}

}  // namespace
}  // namespace nutshell::audit
