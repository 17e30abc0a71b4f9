#include "saved/saved_workspaces.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <optional>

#include "base/file.h"
#include "base/scratch_fixture.h"

namespace nutshell::saved {
namespace {

using namespace std::chrono_literals;

class Saved : public ::testing::Test {
 protected:
  static SandboxStatus status(const std::string& id) {
    SandboxStatus made;
    made.id = id;
    made.spec.workspace = "/project";
    made.spec.workspace_began_ns = "17";
    return made;
  }
  Result<> save(const std::string& id, const std::string& content = "text") {
    auto saving = TRY(Saving::begin(scratch_.path(), status(id)));
    const UniqueFd file = TRY(saving.new_archive(bounds_));
    ArchiveWriter writer(file.get(), {bounds_.bytes, bounds_.bytes});
    wire::FileChange change;
    change.path = "a";
    change.after.kind = wire::FileKind::Regular;
    change.after.size = content.size();
    TRY(writer.add(change));
    TRY(writer.add_content(content));
    TRY(writer.finish("its ttl was over"));
    return saving.commit(bounds_);
  }
  std::size_t count() { return all_.list()->size(); }

  ScratchDirectory scratch_;
  Bounds bounds_;
  SavedWorkspaces all_{scratch_.path()};
};

TEST_F(Saved, IsFoundByABeginningOfItsIdWithItsSpec) {
  ASSERT_TRUE(save("n111111111111"));
  const auto found = all_.find("n1111");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->state, State::Saved);
  EXPECT_EQ(found->sandbox.id, "n111111111111");
  EXPECT_EQ(found->sandbox.spec.workspace, "/project");
  EXPECT_EQ(found->sandbox.spec.workspace_began_ns, "17");
  EXPECT_EQ(found->summary.why, "its ttl was over");
  EXPECT_EQ(all_.find("n222222222222").error().code, ErrorCode::NotFound);
}

TEST_F(Saved, IsBeingSavedWhileItsProcessLivesAndLostAfterwards) {
  std::optional<Saving> saving(std::move(*Saving::begin(scratch_.path(), status("n111111111111"))));
  EXPECT_EQ(all_.find("n111111111111")->state, State::Saving);
  EXPECT_FALSE(all_.remove("n111111111111", Deadline::in(10ms)));
  ASSERT_TRUE(saving->new_archive(bounds_));  // killed while it writes
  saving.reset();
  EXPECT_EQ(all_.find("n111111111111")->state, State::Lost);
  EXPECT_TRUE(all_.remove("n111111111111", Deadline::in(0ms)));
  EXPECT_EQ(count(), 0U);
}

TEST_F(Saved, RemembersWhyItFailed) {
  {
    auto saving = Saving::begin(scratch_.path(), status("n111111111111"));
    ASSERT_TRUE(saving->new_archive(bounds_));
    saving->fail("the disk is nearly full");
  }
  const auto found = all_.find("n111111111111");
  EXPECT_EQ(found->state, State::Failed);
  EXPECT_EQ(found->why, "the disk is nearly full");
}

TEST_F(Saved, LeavesNothingIfThereIsNothingToSave) {
  auto saving = Saving::begin(scratch_.path(), status("n111111111111"));
  ASSERT_TRUE(saving->new_archive(bounds_));
  saving->drop();
  EXPECT_EQ(count(), 0U);
  EXPECT_TRUE(all_.remove("n111111111111", Deadline::in(0ms)));
}

TEST_F(Saved, MakesRoomForTheNewestOnly) {
  bounds_.count = 2;
  for (const char* id : {"n111111111111", "n222222222222", "n333333333333"}) {
    ASSERT_TRUE(save(id));
    ::usleep(5000);  // times are in milliseconds
  }
  EXPECT_EQ(count(), 2U);
  EXPECT_FALSE(all_.find("n111111111111"));
  bounds_.bytes = 4096;
  ASSERT_TRUE(save("n444444444444", std::string(3500, 'x')));
  EXPECT_TRUE(all_.find("n444444444444"));
  EXPECT_LE(count(), 2U);
}

TEST_F(Saved, IsRemovedAfterItsDaysButNeverWhileItIsSaved) {
  ASSERT_TRUE(save("n111111111111"));
  const auto saving = Saving::begin(scratch_.path(), status("n222222222222"));
  ASSERT_TRUE(saving);
  bounds_.days = 0;
  SweepReport report;
  all_.make_room(bounds_, 0, SweepMode::DryRun, report);
  EXPECT_EQ(report.removed.size(), 1U);
  EXPECT_EQ(count(), 2U);
  all_.make_room(bounds_, 0, SweepMode::Remove, report);
  EXPECT_EQ(all_.find("n222222222222")->state, State::Saving);
  EXPECT_EQ(count(), 1U);
}

TEST_F(Saved, AnUnreadableRecordIsStillListed) {
  ASSERT_TRUE(save("n111111111111"));
  ASSERT_TRUE(write_file(scratch_ / "n111111111111/sandbox.json", "{", 0600));
  EXPECT_EQ(all_.list()->front().sandbox.id, "n111111111111");
}

}  // namespace
}  // namespace nutshell::saved
