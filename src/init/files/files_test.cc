// Edit, write, delete and undo on real files.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "init/files/files_fixture.h"
#include "init/files/version.h"

namespace nutshell::init {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

TEST_F(FilesTest, EditReplacesExactlyOnePlace) {
  make("a.txt", "one\ntwo\nthree", 0640);
  const auto changed = edit("a.txt", "two", "2");
  ASSERT_TRUE(changed) << words(changed);
  EXPECT_EQ(content("a.txt"), "one\n2\nthree");
  EXPECT_EQ(mode("a.txt"), 0640U);
  EXPECT_EQ(changed->undo_id, "u1");
  EXPECT_EQ(changed->total_lines, 3U);
  EXPECT_EQ(changed->version, short_version(full_version("one\n2\nthree")));
  ASSERT_EQ(changed->lines.size(), 1U);
  EXPECT_EQ(changed->lines[0].first, 2U);
  ASSERT_EQ(changed->changes.size(), 1U);
  EXPECT_EQ(changed->changes[0].path, "a.txt");
}

TEST_F(FilesTest, EditThatFindsNothingShowsTheNearestLines) {
  make("a.cc", "int main() {\n\tfor (;;) {\n\t\twork();\n\t}\n}\n");
  const auto refused = edit("a.cc", "    for (;;) {\n        work();\n", "x");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::NotFound);
  EXPECT_EQ(refused.error().what,
            "`old` is not in a.cc. Closest: lines 2-3 (differs in indentation: file uses tabs).");
  EXPECT_EQ(refused.error().why, "2\t→for (;;) {\n3\t→→work();");
  EXPECT_THAT(refused.error().next, HasSubstr("offset=1 limit=6"));
}

TEST_F(FilesTest, EditThatFindsSeveralNamesTheirLines) {
  make("a", "x\ny\nx\nx\n");
  const auto refused = edit("a", "x", "z");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::NotUnique);
  EXPECT_EQ(refused.error().what, "`old` matches 3 places in a: lines 1, 3, 4.");
  const auto changed = edit_file(state_, {"a", {{"x", "z", 1}}, {}});
  ASSERT_TRUE(changed) << words(changed);
  EXPECT_EQ(content("a"), "z\ny\nz\nz\n");
  EXPECT_EQ(changed->lines.size(), 3U);
}

TEST_F(FilesTest, EditsAreMadeAllOrNone) {
  make("a", "one two three\n");
  const auto refused = edit_file(state_, {"a", {{"one", "1", 0}, {"four", "4", 0}}, {}});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr("edit 2 of 2"));
  EXPECT_EQ(content("a"), "one two three\n");
  const auto changed = edit_file(state_, {"a", {{"one", "1", 0}, {"1 two", "12", 0}}, {}});
  ASSERT_TRUE(changed) << words(changed);
  EXPECT_EQ(content("a"), "12 three\n");
}

TEST_F(FilesTest, EditOfAFileThatIsNotThereNamesTheOneThatIs) {
  fs::create_directory(path("src"));
  make("src/http.cpp", "x");
  const auto refused = edit("src/htpp.cpp", "x", "y");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::NotFound);
  EXPECT_EQ(refused.error().next, "Did you mean `src/http.cpp`?");
  const auto misplaced = edit("scr/http.cpp", "x", "y");
  ASSERT_FALSE(misplaced);
  EXPECT_EQ(misplaced.error().next, "Did you mean `src/http.cpp`?");
}

TEST_F(FilesTest, VersionThatIsNotTheFilesIsStale) {
  make("a", "one\n");
  const auto page = read("a");
  ASSERT_TRUE(page) << words(page);
  make("a", "two\n");
  const auto edited = edit_file(state_, {"a", {{"two", "2", 0}}, page->version});
  ASSERT_FALSE(edited);
  EXPECT_EQ(edited.error().code, ErrorCode::Stale);
  const auto written = put_file(state_, {"a", 0644, page->version}, "three\n");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::Stale);
  EXPECT_EQ(content("a"), "two\n");
  EXPECT_TRUE(put_file(state_, {"a", 0644, read("a")->version}, "three\n"));
  EXPECT_EQ(content("a"), "three\n");
}

TEST_F(FilesTest, LinkStaysAndItsTargetIsReplaced) {
  make("real", "one\n", 0600);
  fs::create_symlink("real", path("link"));
  ASSERT_TRUE(edit("link", "one", "two"));
  ASSERT_TRUE(put("link", "three\n"));
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(content("real"), "three\n");
  EXPECT_EQ(mode("real"), 0600U);
}

TEST_F(FilesTest, OtherNamesOfAFileKeepTheOldContent) {
  make("a", "one\n");
  fs::create_hard_link(path("a"), path("b"));
  ASSERT_TRUE(edit("a", "one", "two"));
  EXPECT_EQ(content("a"), "two\n");
  EXPECT_EQ(content("b"), "one\n");
}

TEST_F(FilesTest, PutMakesParentsAndUndoTakesThemAway) {
  const auto changed = put_file(state_, {"x/y/z.txt", 0755, {}}, "hello\nthere");
  ASSERT_TRUE(changed) << words(changed);
  EXPECT_EQ(content("x/y/z.txt"), "hello\nthere");
  EXPECT_EQ(mode("x/y/z.txt"), 0755U);
  EXPECT_EQ(changed->total_lines, 2U);
  EXPECT_EQ(changed->total_changes, 3U);
  const auto undone = undo();
  ASSERT_TRUE(undone) << words(undone);
  EXPECT_FALSE(exists("x"));
  ASSERT_TRUE(undo(undone->undo_id));
  EXPECT_EQ(content("x/y/z.txt"), "hello\nthere");
}

TEST_F(FilesTest, PutOfTheSameBytesChangesNothing) {
  make("a", "same\n");
  const auto changed = put("a", "same\n");
  ASSERT_TRUE(changed) << words(changed);
  EXPECT_EQ(changed->undo_id, "");
  EXPECT_EQ(changed->total_changes, 0U);
}

TEST_F(FilesTest, PutThatIsNeverFinishedLeavesNothing) {
  {
    const auto conversation = open_put(1, {"new/file", 0644, {}}, state_);
    const std::string part = wire::encode(wire::FileData{"half"});
    ASSERT_TRUE(conversation->receive({1, wire::MessageType::FileData, part}));
  }
  EXPECT_FALSE(exists("new"));
}

TEST_F(FilesTest, LargeFileIsWrittenInPartsAndHasNoUndoWhereItReplacesOne) {
  constexpr std::size_t kSize = 66U << 20U;
  const std::string bytes(kSize, 'x');
  ASSERT_TRUE(put("big", bytes));
  EXPECT_EQ(fs::file_size(path("big")), kSize);
  EXPECT_LT(state_.journal.bytes(), 1U << 20U);
  const auto changed = put("big", "small\n");
  ASSERT_TRUE(changed) << words(changed);
  EXPECT_EQ(changed->undo_id, "");
  EXPECT_THAT(changed->why_no_undo, HasSubstr("more than 64 MiB"));
}

TEST_F(FilesTest, RemoveTakesFilesLinksAndEmptyDirectories) {
  make("file", "x");
  fs::create_symlink("nowhere", path("link"));
  fs::create_directory(path("folder"));
  for (const char* name : {"file", "link", "folder"}) {
    const auto removed = remove(name);
    ASSERT_TRUE(removed) << words(removed);
    EXPECT_FALSE(exists(name));
    ASSERT_TRUE(undo(removed->undo_id));
    EXPECT_TRUE(exists(name));
  }
  EXPECT_EQ(fs::read_symlink(path("link")), "nowhere");
}

TEST_F(FilesTest, RemoveOfATreeCanBeTakenBackWhole) {
  fs::create_directories(path("tree/deep/er"));
  make("tree/a", "1", 0600);
  make("tree/deep/b", std::string("\0\1", 2), 0755);
  fs::create_symlink("../a", path("tree/deep/er/link"));
  ASSERT_EQ(::chmod(path("tree/deep").c_str(), 0711), 0);
  const auto refused = remove("tree");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::IsDirectory);
  const auto removed = remove_all("tree");
  ASSERT_TRUE(removed) << words(removed);
  EXPECT_FALSE(exists("tree"));
  EXPECT_EQ(removed->total_changes, 6U);
  const auto undone = undo();
  ASSERT_TRUE(undone) << words(undone);
  EXPECT_EQ(content("tree/a"), "1");
  EXPECT_EQ(mode("tree/a"), 0600U);
  EXPECT_EQ(content("tree/deep/b"), std::string("\0\1", 2));
  EXPECT_EQ(mode("tree/deep"), 0711U);
  EXPECT_EQ(fs::read_symlink(path("tree/deep/er/link")), "../a");
}

TEST_F(FilesTest, RemoveOfAVeryDeepTreeEnds) {
  UniqueFd here(::open(path("").c_str(), O_PATH | O_CLOEXEC));
  for (int i = 0; i < 1500; ++i) {
    ASSERT_EQ(::mkdirat(here.get(), "d", 0755), 0);
    here = UniqueFd(::openat(here.get(), "d", O_PATH | O_CLOEXEC));
  }
  const auto removed = remove_all("d");
  ASSERT_TRUE(removed) << words(removed);
  EXPECT_FALSE(exists("d"));
  EXPECT_THAT(removed->why_no_undo, HasSubstr("in each other"));
}

TEST_F(FilesTest, UndoWithoutAnIdGoesFurtherBackEachTime) {
  make("a", "1\n");
  ASSERT_TRUE(edit("a", "1", "2"));
  ASSERT_TRUE(edit("a", "2", "3"));
  ASSERT_TRUE(undo());
  EXPECT_EQ(content("a"), "2\n");
  const auto second = undo();
  ASSERT_TRUE(second);
  EXPECT_EQ(content("a"), "1\n");
  EXPECT_FALSE(undo());
  const auto redone = undo(second->undo_id);
  ASSERT_TRUE(redone) << words(redone);
  EXPECT_EQ(content("a"), "2\n");
  ASSERT_TRUE(undo());
  EXPECT_EQ(content("a"), "1\n");
}

TEST_F(FilesTest, UndoWithoutAnIdPassesOverCaches) {
  make("a", "1\n");
  ASSERT_TRUE(edit("a", "1", "2"));
  ASSERT_TRUE(put("pkg/__pycache__/a.cpython-311.pyc", "x"));
  ASSERT_TRUE(put(".pytest_cache/v/lastfailed", "x"));
  ASSERT_TRUE(undo());
  EXPECT_EQ(content("a"), "1\n");
  EXPECT_TRUE(exists("pkg/__pycache__/a.cpython-311.pyc"));
  ASSERT_TRUE(undo());  // only caches are left
  EXPECT_FALSE(exists(".pytest_cache/v/lastfailed"));
}

TEST_F(FilesTest, UndoOfWhatChangedSinceShowsTheDifference) {
  make("a", "1\nmiddle\nend\n");
  const auto changed = edit("a", "1", "2");
  ASSERT_TRUE(changed);
  make("a", "2\nother\nend\n");
  const auto refused = undo(changed->undo_id);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::Conflict);
  EXPECT_THAT(refused.error().why, HasSubstr("-middle\n+other"));
  EXPECT_EQ(content("a"), "2\nother\nend\n");
}

TEST_F(FilesTest, UndoDoesNotRemoveADirectoryWithNewFiles) {
  ASSERT_TRUE(put("folder/a", "x"));
  make("folder/b", "y");
  const auto refused = undo();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::Conflict);
  EXPECT_TRUE(exists("folder/a"));
}

TEST_F(FilesTest, UndoSaysWhatIsUnknownAndWhatIsExpired) {
  make("a", "0");
  EXPECT_EQ(undo("u1").error().code, ErrorCode::InvalidArgument);
  for (std::size_t i = 0; i <= ChangeJournal::kMostChanges; ++i)
    ASSERT_TRUE(put("a", std::to_string(i + 1)));
  EXPECT_EQ(undo("u1").error().code, ErrorCode::Expired);
  EXPECT_EQ(undo("u2").error().code, ErrorCode::Conflict);
}

TEST_F(FilesTest, FilesOutsideAreNotChanged) {
  ASSERT_TRUE(write_file(outside("secret"), "s"));
  fs::create_directory_symlink(outside(""), path("way"));
  fs::create_symlink(outside("secret"), path("link"));
  fs::create_symlink(outside("new"), path("dangling"));
  for (const std::string& name : {std::string("way/secret"), outside("secret"),
                                  std::string("../outside/secret"), std::string("link")}) {
    EXPECT_EQ(edit(name, "s", "t").error().code, ErrorCode::OutsideRoot) << name;
    EXPECT_EQ(put(name, "t").error().code, ErrorCode::OutsideRoot) << name;
  }
  EXPECT_EQ(put("dangling", "t").error().code, ErrorCode::OutsideRoot);
  EXPECT_EQ(put("way/made/file", "t").error().code, ErrorCode::OutsideRoot);
  EXPECT_EQ(remove("way/secret").error().code, ErrorCode::OutsideRoot);
  EXPECT_EQ(remove_all("../workspace").error().code, ErrorCode::OutsideRoot);
  EXPECT_EQ(read_file(outside("secret")).value(), "s");
  EXPECT_EQ(std::distance(fs::directory_iterator(outside("")), fs::directory_iterator()), 1);
  ASSERT_TRUE(remove("link"));
  EXPECT_TRUE(fs::exists(outside("secret")));
}

TEST_F(FilesTest, OddPlacesAreRefused) {
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0644), 0);
  const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{AF_UNIX, {}};
  path("sock").copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  fs::create_symlink("loop", path("loop"));
  fs::create_directory(path("folder"));
  const auto codes = [&](const std::string& name) {
    return std::vector{read(name).error().code, edit(name, "a", "b").error().code,
                       put(name, "x").error().code};
  };
  using Codes = std::vector<ErrorCode>;
  EXPECT_EQ(codes("fifo"), Codes(3, ErrorCode::InvalidArgument));
  EXPECT_EQ(codes("sock"), Codes(3, ErrorCode::InvalidArgument));
  EXPECT_EQ(codes("loop"), Codes(3, ErrorCode::InvalidArgument));
  EXPECT_EQ(codes("folder"), Codes(3, ErrorCode::IsDirectory));
  EXPECT_EQ(codes("new\nline"), Codes(3, ErrorCode::InvalidArgument));
  EXPECT_EQ(codes("bad\xFFname"), Codes(3, ErrorCode::InvalidArgument));
  EXPECT_EQ(codes(""), Codes(3, ErrorCode::InvalidArgument));
  EXPECT_EQ(codes(std::string(5000, 'x')), Codes(3, ErrorCode::InvalidArgument));
  EXPECT_EQ(codes(std::string("a\0b", 3)), Codes(3, ErrorCode::InvalidArgument));
  EXPECT_EQ(read("/dev/zero").error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(read("/proc/self/environ").error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(put("folder/", "x").error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(put("fifo/below", "x").error().code, ErrorCode::InvalidArgument);
}

TEST_F(FilesTest, FormerStateOfAFileCanBeRead) {
  make("a", "before\n");
  ASSERT_TRUE(edit("a", "before", "after"));
  const std::string request =
      wire::encode(wire::ReadFile{"a", 0, 100, 1U << 16U, wire::FileState::BeforeLastChange});
  auto opened = open_files_conversation({3, wire::MessageType::ReadFile, request}, state_);
  ASSERT_TRUE(opened && *opened) << opened.error().message;
  EXPECT_TRUE((*opened)->ready());
  (*opened)->sent();
  const std::string data((*opened)->ready().value());
  EXPECT_EQ(wire::decode<wire::FileData>(data.substr(wire::kHeaderBytes))->bytes, "before\n");
  const std::string other =
      wire::encode(wire::ReadFile{"b", 0, 100, 1U << 16U, wire::FileState::BeforeLastChange});
  EXPECT_EQ(open_files_conversation({3, wire::MessageType::ReadFile, other}, state_).error().code,
            ErrorCode::Expired);
}

TEST_F(FilesTest, ASlashBehindAFileIsRefused) {
  make("a", "one\n");
  EXPECT_EQ(edit("a/", "one", "two").error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(remove("a/").error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(content("a"), "one\n");
  std::filesystem::create_directory(path("d"));
  EXPECT_TRUE(remove("d/"));
}

TEST_F(FilesTest, ASeriesOfEditsKeepsEachStateOnce) {
  make("a", "0\n");
  for (int i = 0; i < 5; ++i)
    ASSERT_TRUE(edit("a", std::to_string(i), std::to_string(i + 1)));
  const auto* before = state_.journal.find("u4");
  const auto* after = state_.journal.find("u5");
  ASSERT_TRUE(before != nullptr && after != nullptr);
  EXPECT_EQ(before->paths.front().after.content, after->paths.front().before.content);
  make("a", "5\nand what no tool wrote\n");
  ASSERT_TRUE(edit("a", "5", "6"));
  ASSERT_TRUE(undo());
  EXPECT_EQ(content("a"), "5\nand what no tool wrote\n");
}

TEST(Attempt, KeepsTheCodeOfTheError) {
  const auto code = [](ErrorCode given) { return refuse(Error{given, "x"}, "a").value().code; };
  EXPECT_EQ(code(ErrorCode::ResourceExhausted), ErrorCode::ResourceExhausted);
  EXPECT_EQ(code(ErrorCode::NotFound), ErrorCode::NotFound);
}

}  // namespace
}  // namespace nutshell::init
