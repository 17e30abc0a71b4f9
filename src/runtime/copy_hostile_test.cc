#include <sys/socket.h>

#include <functional>
#include <optional>
#include <thread>

#include "base/socket.h"
#include "runtime/copy.h"
#include "runtime/copy_fixture.h"

namespace nutshell {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using wire::FileInfo;
using wire::FileKind;
using wire::MessageType;

// An init that lies: it reports whatever the test says, and every file holds "evil".
class LyingInit {
 public:
  LyingInit(UniqueFd stream, FileInfo source, std::vector<FileInfo> entries)
      : stream_(std::move(stream)),
        source_(std::move(source)),
        entries_(std::move(entries)),
        thread_([this] { serve(); }) {}
  LyingInit(const LyingInit&) = delete;
  LyingInit& operator=(const LyingInit&) = delete;
  ~LyingInit() { thread_.join(); }

 private:
  void serve() {
    wire::FrameReader reader(wire::kMostRequestPayload);
    std::string greeting;
    wire::append_frame(greeting, 0, wire::Hello{});
    send(greeting);
    for (;;) {
      const auto [space, size] = reader.space();
      const ssize_t count = ::recv(stream_.get(), space, size, 0);
      if (count <= 0) return;
      reader.filled(static_cast<std::size_t>(count));
      for (auto frame = reader.next(); frame && *frame; frame = reader.next())
        answer(**frame);
    }
  }
  void answer(const wire::Frame& frame) {
    std::string reply;
    const std::uint32_t number = frame.conversation;
    switch (frame.type) {
      case MessageType::Stat:
        wire::append_frame(reply, number, source_);
        break;
      case MessageType::Walk:
        for (const FileInfo& entry : entries_) {
          wire::append_frame(reply, number, wire::Entries{{entry}});
        }
        wire::append_frame(reply, number, wire::Done{});
        break;
      case MessageType::ReadFile:
        wire::append_frame(reply, number, FileInfo{});
        wire::append_frame(reply, number, wire::FileData{"evil"});
        wire::append_frame(reply, number, wire::Done{});
        break;
      default:
        break;
    }
    send(reply);
  }
  void send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::send(stream_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count <= 0) return;
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
  }

  UniqueFd stream_;
  FileInfo source_;
  std::vector<FileInfo> entries_;
  std::thread thread_;
};

FileInfo file(std::string path, std::uint64_t size = 4) {
  return {std::move(path), FileKind::Regular, 06777, size, 0, ""};
}
FileInfo directory(std::string path) {
  return {std::move(path), FileKind::Directory, 0755, 0, 0, ""};
}
FileInfo link(std::string path, std::string target) {
  return {std::move(path), FileKind::Link, 0777, 0, 0, std::move(target)};
}

// The target is host_/out; box_ stands for everything outside the target.
class HostileCopyTest : public CopyDirectories {
 protected:
  HostileCopyTest() {
    fs::create_directories(host_ / "out");
    put(box_ / "precious", "mine");
  }
  ~HostileCopyTest() override {
    EXPECT_EQ(text_of(box_ / "precious"), "mine");
    EXPECT_EQ(count_in(box_), 1U);
    EXPECT_EQ(count_in(host_), 1U);
    EXPECT_EQ(count_in(root_), 2U);
  }

  Result<CopyReport> receive(std::vector<FileInfo> entries,
                             const FileInfo& source = directory("")) {
    auto [ours, theirs] = std::move(*make_socket_pair(SocketKind::Stream));
    const LyingInit init(std::move(theirs), source, std::move(entries));
    wire::InitClient client(std::move(ours));
    return copy_out(client, "/src/.", host_ / "out");
  }
  [[nodiscard]] std::string target_of(const std::string& name) const {
    return (box_ / name).native();
  }
};

TEST_F(HostileCopyTest, NamesThatLeadOutAreRefused) {
  for (const std::string name :
       {"../x", "/etc/x", "a/../../x", "..", ".", "", "a//b", "a/", "./a", "a/.", "a/..", "/"}) {
    const auto result = receive({directory("a"), file(name)});
    ASSERT_FALSE(result) << name;
    EXPECT_EQ(result.error().code, ErrorCode::Corrupt) << name;
    EXPECT_TRUE(fs::is_empty(host_ / "out")) << name;
  }
  EXPECT_FALSE(receive({file(std::string("a\0b", 3))}));
  EXPECT_FALSE(receive({file(box_ / "precious")}));
}

TEST_F(HostileCopyTest, FileBelowALinkIsRefused) {
  const auto result = receive({link("a", box_.native()), file("a/precious")});
  EXPECT_FALSE(result);
  EXPECT_TRUE(is_link(host_ / "out/a"));
  EXPECT_FALSE(receive({link("b", ".."), link("b/c", "/"), file("b/c/x")}));
  EXPECT_FALSE(receive({directory("d"), link("d/e", "../.."), file("d/e/x")}));
}

TEST_F(HostileCopyTest, FileTakesThePlaceOfALinkOfTheSameName) {
  const auto result = receive({link("a", target_of("precious")), file("a")});
  ASSERT_TRUE(result) << error_of(result);
  EXPECT_FALSE(is_link(host_ / "out/a"));
  EXPECT_EQ(text_of(host_ / "out/a"), "evil");
  EXPECT_EQ(mode_of(host_ / "out/a"), 0777U);
}

TEST_F(HostileCopyTest, DirectoryTakesThePlaceOfALinkOfTheSameName) {
  const auto result = receive({link("a", box_.native()), directory("a"), file("a/precious")});
  ASSERT_TRUE(result) << error_of(result);
  EXPECT_FALSE(is_link(host_ / "out/a"));
  EXPECT_EQ(text_of(host_ / "out/a/precious"), "evil");
}

TEST_F(HostileCopyTest, DirectoryThatBecomesAnythingElseIsAnError) {
  EXPECT_FALSE(receive({directory("a"), file("a/x"), link("a", box_.native()), file("a/y")}));
  EXPECT_FALSE(is_link(host_ / "out/a"));
  EXPECT_FALSE(receive({directory("b"), file("b")}));
  EXPECT_FALSE(receive({file("c"), directory("c"), file("c/x")}));
  EXPECT_FALSE(receive({file("d"), file("d/x")}));
  EXPECT_FALSE(receive({file("nobody/made/this")}));
  for (const auto& entry : fs::recursive_directory_iterator(host_ / "out")) {
    EXPECT_THAT(entry.path().native(), testing::Not(HasSubstr(".nutshell-")));
  }
}

TEST_F(HostileCopyTest, LinksThatAreNoneAreRefused) {
  EXPECT_FALSE(receive({link("a", "")}));
  EXPECT_FALSE(receive({link("a", std::string("x\0y", 3))}));
  EXPECT_FALSE(receive({link("a", std::string(5000, 'x'))}));
  EXPECT_TRUE(fs::is_empty(host_ / "out"));
}

TEST_F(HostileCopyTest, DepthIsBounded) {
  std::vector<FileInfo> entries;
  std::string path;
  for (int i = 0; i < 300; ++i) {
    path += i == 0 ? "d" : "/d";
    entries.push_back(directory(path));
  }
  const auto result = receive(std::move(entries));
  EXPECT_THAT(error_of(result), HasSubstr("deep"));
  EXPECT_TRUE(fs::is_empty(host_ / "out"));
}

TEST_F(HostileCopyTest, UnknownKindsAreSkipped) {
  FileInfo unknown = file("a");
  unknown.kind = static_cast<FileKind>(77);
  FileInfo device = file("b");
  device.kind = FileKind::Other;
  const auto result = receive({unknown, device});
  ASSERT_TRUE(result) << error_of(result);
  EXPECT_EQ(result->skipped, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(fs::is_empty(host_ / "out"));
}

TEST_F(HostileCopyTest, MoreBytesThanTheSizeAreRefused) {
  EXPECT_FALSE(receive({file("a", 3)}));
  EXPECT_TRUE(fs::is_empty(host_ / "out"));
}

TEST_F(HostileCopyTest, SizesThatCannotBeAreRefused) {
  EXPECT_THAT(error_of(receive({file("a", ~0ULL)})), HasSubstr("no room"));
  EXPECT_THAT(error_of(receive({file("a"), file("b", ~0ULL - 1)})), HasSubstr("no room"));
  EXPECT_TRUE(fs::is_empty(host_ / "out"));
}

TEST_F(HostileCopyTest, FileWithoutANameIsRefused) {
  EXPECT_THAT(error_of(receive({}, file(""))), HasSubstr("names no file"));
}

TEST_F(HostileCopyTest, ModeOfTheTargetIsNotTheSandboxsToSet) {
  fs::permissions(host_ / "out", fs::perms(0700));
  FileInfo source = directory("");
  source.mode = 07777;
  FileInfo inner = directory("a");
  inner.mode = 07777;
  ASSERT_TRUE(receive({inner}, source));
  EXPECT_EQ(mode_of(host_ / "out"), 0700U);
  EXPECT_EQ(mode_of(host_ / "out/a"), 0777U);
}

}  // namespace
}  // namespace nutshell
