#include "init/files/file_conversations.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "base/file.h"
#include "base/scratch_fixture.h"

namespace nutshell::init {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kNumber = 5;

wire::Frame frame_of(const std::string& payload, wire::MessageType type) {
  return {kNumber, type, payload};
}

class FileConversations : public testing::Test {
 protected:
  template <typename Message>
  Result<std::unique_ptr<Conversation>> open(Message message) {
    const std::string payload = wire::encode(std::move(message));
    return open_file_conversation(frame_of(payload, Message::kType));
  }
  template <typename Message>
  Result<> tell(Conversation& conversation, Message message) {
    const std::string payload = wire::encode(std::move(message));
    return conversation.receive(frame_of(payload, Message::kType));
  }
  // Sends the next frame; returns its type, and leaves its payload in payload_.
  wire::MessageType next(Conversation& conversation) {
    const auto bytes = conversation.ready();
    if (!bytes) return wire::MessageType::Hello;  // nothing to say
    const auto type = static_cast<wire::MessageType>((*bytes)[8]);
    payload_ = bytes->substr(wire::kHeaderBytes);
    conversation.sent();
    return type;
  }
  std::string read_all_of(Conversation& conversation) {
    std::string bytes;
    for (;;) {
      const auto type = next(conversation);
      if (type == wire::MessageType::Done) return bytes;
      if (type == wire::MessageType::Failed) return "(failed)";
      if (type == wire::MessageType::FileData)
        bytes += wire::decode<wire::FileData>(payload_)->bytes;
      EXPECT_TRUE(tell(conversation, wire::Consumed{wire::Stream::Output, bytes.size()}));
    }
  }
  std::string path(const std::string& name) { return scratch_ / name; }
  std::string text(const std::string& name) { return *read_file(scratch_ / name); }

  ScratchDirectory scratch_;
  std::string payload_;
};

TEST_F(FileConversations, ReadGivesTheFileAndItsFacts) {
  ASSERT_TRUE(write_file(path("file"), "0123456789"));
  auto reading = open(wire::ReadFile{path("file"), 0, 100, 100});
  ASSERT_TRUE(reading) << reading.error().message;
  ASSERT_EQ(next(**reading), wire::MessageType::FileInfo);
  EXPECT_EQ(wire::decode<wire::FileInfo>(payload_)->size, 10U);
  EXPECT_EQ(read_all_of(**reading), "0123456789");
  EXPECT_TRUE((*reading)->is_over());
}

TEST_F(FileConversations, ReadTakesRanges) {
  ASSERT_TRUE(write_file(path("file"), "0123456789"));
  const auto range = [&](std::uint64_t offset, std::uint64_t length) {
    return read_all_of(**open(wire::ReadFile{path("file"), offset, length, 100}));
  };
  EXPECT_EQ(range(3, 4), "3456");
  EXPECT_EQ(range(8, 100), "89");
  EXPECT_EQ(range(10, 1), "");
  EXPECT_EQ(range(1'000'000, 1), "");
  EXPECT_EQ(range(0, 0), "");
  EXPECT_EQ(range(~0ULL, 1), "(failed)");
}

TEST_F(FileConversations, ReadStopsAtTheWindow) {
  const std::string bytes(5 * wire::kMostData, 'x');
  ASSERT_TRUE(write_file(path("file"), bytes));
  auto reading = open(wire::ReadFile{path("file"), 0, bytes.size(), 2 * wire::kMostData});
  ASSERT_EQ(next(**reading), wire::MessageType::FileInfo);
  EXPECT_EQ(next(**reading), wire::MessageType::FileData);
  EXPECT_EQ(next(**reading), wire::MessageType::FileData);
  EXPECT_FALSE((*reading)->ready());
  ASSERT_TRUE(tell(**reading, wire::Consumed{wire::Stream::Output, 1}));
  EXPECT_EQ(next(**reading), wire::MessageType::FileData);
  EXPECT_FALSE((*reading)->ready());
}

TEST_F(FileConversations, ReadRefusesWhatIsNoFile) {
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  for (const std::string& name :
       {path("fifo"), path(""), path("none"), std::string("/proc/self/maps"),
        std::string("/dev/zero"), std::string("/proc/self/fd/0"), std::string()}) {
    EXPECT_FALSE(open(wire::ReadFile{name, 0, 1, 1})) << name;
  }
}

TEST_F(FileConversations, WriteAppearsWholeOrNotAtAll) {
  ASSERT_TRUE(write_file(path("file"), "old"));
  auto writing = open(wire::WriteFile{path("file"), 0640, 0, 0});
  ASSERT_TRUE(writing) << writing.error().message;
  ASSERT_TRUE(tell(**writing, wire::FileData{"ne"}));
  ASSERT_TRUE(tell(**writing, wire::FileData{"w"}));
  EXPECT_EQ(text("file"), "old");
  ASSERT_TRUE(tell(**writing, wire::FileEnd{}));
  EXPECT_EQ(text("file"), "new");
  struct stat status {};
  ASSERT_EQ(::stat(path("file").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0640U);
}

TEST_F(FileConversations, WriteThatIsGivenUpLeavesNothing) {
  {
    auto writing = open(wire::WriteFile{path("file"), 0644, 0, 0});
    ASSERT_TRUE(writing && tell(**writing, wire::FileData{"half"}));
  }
  EXPECT_TRUE(fs::is_empty(scratch_.path()));
}

TEST_F(FileConversations, WriteMakesNoSetUserIdFile) {
  auto writing = open(wire::WriteFile{path("file"), 06777, 0, 0});
  ASSERT_TRUE(writing && tell(**writing, wire::FileEnd{}));
  struct stat status {};
  ASSERT_EQ(::stat(path("file").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07000U, 0U);
}

TEST_F(FileConversations, WriteOfARangeChangesOnlyIt) {
  ASSERT_TRUE(write_file(path("file"), "0123456789"));
  auto writing = open(wire::WriteFile{path("file"), 0, 1, 3});
  ASSERT_TRUE(writing) << writing.error().message;
  ASSERT_TRUE(tell(**writing, wire::FileData{"abc"}));
  ASSERT_TRUE(tell(**writing, wire::FileEnd{}));
  EXPECT_EQ(text("file"), "012abc6789");
  EXPECT_FALSE(open(wire::WriteFile{path("none"), 0, 1, 0}));
}

TEST_F(FileConversations, WriteToWhatIsNoFileIsRefused) {
  fs::create_directory(path("folder"));
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  EXPECT_FALSE(open(wire::WriteFile{path("fifo"), 0, 1, 0}));
  EXPECT_FALSE(open(wire::WriteFile{"/proc/self/oom_score_adj", 0, 1, 0}));
  auto onto_folder = open(wire::WriteFile{path("folder"), 0644, 0, 0});
  ASSERT_TRUE(onto_folder && tell(**onto_folder, wire::FileEnd{}));
  EXPECT_EQ(next(**onto_folder), wire::MessageType::Failed);
}

TEST_F(FileConversations, WriteAcknowledgesWhatItTook) {
  auto writing = open(wire::WriteFile{path("file"), 0644, 0, 0});
  ASSERT_TRUE(writing && tell(**writing, wire::FileData{"12345"}));
  ASSERT_EQ(next(**writing), wire::MessageType::InputConsumed);
  EXPECT_EQ(wire::decode<wire::InputConsumed>(payload_)->offset, 5U);
  EXPECT_FALSE((*writing)->ready());
}

TEST_F(FileConversations, StatDescribesALinkOrItsTarget) {
  ASSERT_TRUE(write_file(path("file"), "12345"));
  fs::create_symlink("file", path("link"));
  ASSERT_EQ(next(**open(wire::Stat{path("link"), 0})), wire::MessageType::FileInfo);
  EXPECT_EQ(wire::decode<wire::FileInfo>(payload_)->kind, wire::FileKind::Link);
  EXPECT_EQ(wire::decode<wire::FileInfo>(payload_)->target, "file");
  ASSERT_EQ(next(**open(wire::Stat{path("link"), 1})), wire::MessageType::FileInfo);
  EXPECT_EQ(wire::decode<wire::FileInfo>(payload_)->size, 5U);
  EXPECT_EQ(open(wire::Stat{path("none"), 0}).error().code, ErrorCode::NotFound);
}

TEST_F(FileConversations, DirectoriesAndLinksAreMade) {
  EXPECT_TRUE(open(wire::MakeDirectory{path("a/b/c"), 0700, wire::IfExists::Accept}));
  EXPECT_TRUE(fs::is_directory(path("a/b/c")));
  EXPECT_FALSE(open(wire::MakeDirectory{path("a"), 0755, wire::IfExists::Refuse}));
  EXPECT_TRUE(open(wire::MakeLink{path("link"), "anywhere"}));
  EXPECT_TRUE(open(wire::MakeLink{path("link"), "elsewhere"}));
  EXPECT_EQ(fs::read_symlink(path("link")), "elsewhere");
  EXPECT_FALSE(open(wire::MakeLink{path("a"), "x"}));
  EXPECT_TRUE(fs::is_directory(path("a")));
}

TEST_F(FileConversations, WalkListsParentsBeforeChildrenAndFollowsNoLink) {
  fs::create_directories(path("tree/deep"));
  ASSERT_TRUE(write_file(path("tree/deep/file"), "x"));
  fs::create_symlink("/", path("tree/out"));
  auto walking = open(wire::Walk{path("tree"), 100, 0});
  ASSERT_TRUE(walking) << walking.error().message;
  ASSERT_EQ(next(**walking), wire::MessageType::Entries);
  std::vector<std::string> names;
  const auto batch = wire::decode<wire::Entries>(payload_);
  ASSERT_TRUE(batch);
  for (const wire::FileInfo& entry : batch->entries)
    names.push_back(entry.path);
  EXPECT_THAT(names, testing::UnorderedElementsAre("deep", "deep/file", "out"));
  EXPECT_LT(std::find(names.begin(), names.end(), "deep"),
            std::find(names.begin(), names.end(), "deep/file"));
  EXPECT_EQ(next(**walking), wire::MessageType::Done);
}

TEST_F(FileConversations, WalkGoesNoDeeperThanAsked) {
  fs::create_directories(path("tree/a/b/c"));
  auto walking = open(wire::Walk{path("tree"), 2, 0});
  ASSERT_TRUE(walking);
  ASSERT_EQ(next(**walking), wire::MessageType::Entries);
  EXPECT_EQ(wire::decode<wire::Entries>(payload_)->entries.size(), 2U);
}

TEST_F(FileConversations, WalkStopsAtTheWindow) {
  fs::create_directory(path("many"));
  for (int i = 0; i < 4000; ++i)
    ASSERT_TRUE(write_file(path("many/" + std::to_string(i)), ""));
  auto walking = open(wire::Walk{path("many"), 1, 0});
  ASSERT_TRUE(walking);
  std::size_t listed = 0;
  std::uint64_t received = 0;
  int pauses = 0;
  for (;;) {
    const auto type = next(**walking);
    if (type == wire::MessageType::Done) break;
    if (type == wire::MessageType::Hello) {
      ASSERT_LT(++pauses, 100);
      ASSERT_TRUE(tell(**walking, wire::Consumed{wire::Stream::Output, received}));
      continue;
    }
    received += wire::kHeaderBytes + payload_.size();
    listed += wire::decode<wire::Entries>(payload_)->entries.size();
  }
  EXPECT_EQ(listed, 4000U);
  EXPECT_GT(pauses, 0);
}

TEST_F(FileConversations, TailOfAnEndedConversationIsNoFailure) {
  EXPECT_EQ(open(wire::FileData{"late"}).error().code, ErrorCode::Cancelled);
  EXPECT_EQ(open(wire::Consumed{}).error().code, ErrorCode::Cancelled);
}

TEST_F(FileConversations, MalformedRequestIsCorrupt) {
  for (const auto type :
       {wire::MessageType::ReadFile, wire::MessageType::WriteFile, wire::MessageType::Walk,
        wire::MessageType::Stat, wire::MessageType::MakeDirectory, wire::MessageType::MakeLink}) {
    EXPECT_EQ(open_file_conversation(frame_of("xx", type)).error().code, ErrorCode::Corrupt);
  }
}

}  // namespace
}  // namespace nutshell::init
