#include "runtime/copy.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <optional>

#include "base/file.h"
#include "base/socket.h"
#include "init/init.h"
#include "runtime/copy_fixture.h"

namespace nutshell {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;
using testing::HasSubstr;

// A real init without a sandbox: the copy's "inside" is any directory of the test.
class CopyTest : public CopyDirectories {
 protected:
  void SetUp() override {
    auto [control, control_inside] = std::move(*make_socket_pair(SocketKind::Packets));
    auto [stream, stream_inside] = std::move(*make_socket_pair(SocketKind::Stream));
    init_ = ::fork();
    ASSERT_GE(init_, 0);
    if (init_ == 0) {
      control.reset();
      stream.reset();
      InitSetup setup;
      setup.control = std::move(control_inside);
      setup.connection = std::move(stream_inside);
      setup.ttl = 5min;
      ::_exit(init::run_init(std::move(setup)));
    }
    control_ = std::move(control);
    client_.emplace(std::move(stream));
  }
  void TearDown() override {
    client_.reset();
    control_.reset();
    int status = 0;
    ASSERT_EQ(::waitpid(init_, &status, 0), init_);
    EXPECT_EQ(status, 0);
  }

  CopyReport in(const fs::path& source, const fs::path& target) {
    const auto report = copy_in(*client_, source, target.native());
    EXPECT_TRUE(report) << error_of(report);
    return report.value_or(CopyReport{});
  }
  CopyReport out(const fs::path& source, const fs::path& target) {
    const auto report = copy_out(*client_, source.native(), target);
    EXPECT_TRUE(report) << error_of(report);
    return report.value_or(CopyReport{});
  }

  pid_t init_ = -1;
  UniqueFd control_;
  std::optional<wire::InitClient> client_;
};

TEST_F(CopyTest, FileBecomesItsTarget) {
  put(host_ / "a", "hello", 0640);
  const CopyReport report = in(host_ / "a", box_ / "b");
  EXPECT_EQ(text_of(box_ / "b"), "hello");
  EXPECT_EQ(mode_of(box_ / "b"), 0640U);
  EXPECT_EQ(report.files, 1U);
  EXPECT_EQ(report.bytes, 5U);
  EXPECT_EQ(out(box_ / "b", host_ / "c").bytes, 5U);
  EXPECT_EQ(text_of(host_ / "c"), "hello");
  EXPECT_EQ(mode_of(host_ / "c"), 0640U);
}

TEST_F(CopyTest, FileKeepsItsNameInADirectory) {
  put(host_ / "a", "hello");
  in(host_ / "a", box_);
  EXPECT_EQ(text_of(box_ / "a"), "hello");
  fs::create_directory(host_ / "d");
  out(box_ / "a", (host_ / "d").native() + "/");
  EXPECT_EQ(text_of(host_ / "d/a"), "hello");
  EXPECT_EQ(count_in(host_ / "d"), 1U);
}

TEST_F(CopyTest, FileReplacesAFileAndLosesSetIdBits) {
  put(host_ / "a", "new", 06755);
  put(box_ / "a", "older and longer");
  in(host_ / "a", box_ / "a");
  EXPECT_EQ(text_of(box_ / "a"), "new");
  EXPECT_EQ(mode_of(box_ / "a"), 0755U);
  ASSERT_EQ(::chmod((box_ / "a").c_str(), 06711), 0);
  put(host_ / "b", "older and longer");
  out(box_ / "a", host_ / "b");
  EXPECT_EQ(text_of(host_ / "b"), "new");
  EXPECT_EQ(mode_of(host_ / "b"), 0711U);
  EXPECT_EQ(count_in(box_), 1U);
  EXPECT_EQ(count_in(host_), 2U);
}

TEST_F(CopyTest, MissingDirectoriesAreNamed) {
  put(host_ / "a", "x");
  put(box_ / "a", "x");
  EXPECT_THAT(error_of(copy_in(*client_, host_ / "a", (box_ / "no/b").native())),
              HasSubstr("there is no directory " + (box_ / "no").native()));
  EXPECT_THAT(error_of(copy_in(*client_, host_ / "a", (box_ / "no").native() + "/")),
              HasSubstr("there is no directory"));
  EXPECT_THAT(error_of(copy_in(*client_, host_ / "a", (box_ / "a").native() + "/")),
              HasSubstr("is no directory"));
  EXPECT_THAT(error_of(copy_out(*client_, (box_ / "a").native(), host_ / "no/b")),
              HasSubstr("there is no directory " + (host_ / "no").native()));
  EXPECT_THAT(error_of(copy_out(*client_, (box_ / "a").native(), (host_ / "no").native() + "/")),
              HasSubstr("there is no directory"));
  EXPECT_THAT(error_of(copy_in(*client_, host_ / "gone", box_.native())),
              HasSubstr("No such file"));
  EXPECT_THAT(error_of(copy_out(*client_, (box_ / "gone").native(), host_)),
              HasSubstr("No such file"));
  EXPECT_FALSE(copy_in(*client_, host_ / "a", ""));
  EXPECT_FALSE(copy_out(*client_, (box_ / "a").native(), ""));
  EXPECT_EQ(count_in(host_), 1U);
  EXPECT_EQ(count_in(box_), 1U);
}

TEST_F(CopyTest, DirectoryDoesNotReplaceAFile) {
  fs::create_directory(host_ / "d");
  fs::create_directory(box_ / "d");
  put(box_ / "f", "x");
  put(host_ / "f", "x");
  EXPECT_THAT(error_of(copy_in(*client_, host_ / "d", (box_ / "f").native())),
              HasSubstr("is no directory"));
  EXPECT_THAT(error_of(copy_out(*client_, (box_ / "d").native(), host_ / "f")),
              HasSubstr("is no directory"));
  fs::create_directory(host_ / "d/f");
  EXPECT_FALSE(copy_in(*client_, (host_ / "d").native() + "/.", box_.native()));
}

// Makes a tree with every kind of entry.
void make_tree(const fs::path& tree) {
  fs::create_directories(tree / "sub/empty");
  std::ofstream(tree / "plain") << "plain";
  std::ofstream(tree / "sub/run") << "#!";
  fs::permissions(tree / "sub/run", fs::perms(0751));
  std::ofstream(tree / "new\nline\x1b[31m") << "odd";
  std::ofstream(tree / "\xff\xfe-invalid") << "odder";
  std::ofstream(tree / "-rf") << "dash";
  std::ofstream(tree / std::string(255, 'n')) << "long";
  fs::create_symlink("plain", tree / "to-file");
  fs::create_symlink("/etc", tree / "to-outside");
  fs::create_symlink("nowhere", tree / "dangling");
  fs::create_directory(tree / "locked");
  std::ofstream(tree / "locked/inside") << "kept";
  fs::permissions(tree / "locked", fs::perms(0555));
}

void expect_tree(const fs::path& tree) {
  const auto text = [&](const std::string& name) {
    std::ifstream file(tree / name);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  EXPECT_EQ(text("plain"), "plain");
  EXPECT_EQ(text("sub/run"), "#!");
  EXPECT_EQ(fs::status(tree / "sub/run").permissions(), fs::perms(0751));
  EXPECT_EQ(text("new\nline\x1b[31m"), "odd");
  EXPECT_EQ(text("\xff\xfe-invalid"), "odder");
  EXPECT_EQ(text("-rf"), "dash");
  EXPECT_EQ(text(std::string(255, 'n')), "long");
  EXPECT_EQ(fs::read_symlink(tree / "to-file"), "plain");
  EXPECT_EQ(fs::read_symlink(tree / "to-outside"), "/etc");
  EXPECT_EQ(fs::read_symlink(tree / "dangling"), "nowhere");
  EXPECT_TRUE(fs::is_empty(tree / "sub/empty"));
  EXPECT_EQ(text("locked/inside"), "kept");
  EXPECT_EQ(fs::status(tree / "locked").permissions(), fs::perms(0555));
}

TEST_F(CopyTest, TreeComesBackAsItWas) {
  make_tree(host_ / "tree");
  fs::permissions(host_ / "tree", fs::perms(0750));
  EXPECT_EQ(in(host_ / "tree", box_ / "inside").files, 10U);
  expect_tree(box_ / "inside");
  EXPECT_EQ(mode_of(box_ / "inside"), 0750U);
  EXPECT_EQ(out(box_ / "inside", host_ / "back").files, 10U);
  expect_tree(host_ / "back");
  EXPECT_EQ(mode_of(host_ / "back"), 0750U);
}

TEST_F(CopyTest, TreeGoesIntoADirectoryThatIsThere) {
  make_tree(host_ / "tree");
  in((host_ / "tree").native() + "/", box_);
  expect_tree(box_ / "tree");
  fs::create_directory(host_ / "back");
  out(box_ / "tree", host_ / "back");
  expect_tree(host_ / "back/tree");
  // Copies again over the existing tree.
  put(host_ / "tree/sub/run", "changed", 0751);
  in(host_ / "tree/sub", box_ / "tree");
  out(box_ / "tree/sub", host_ / "back/tree");
  EXPECT_EQ(text_of(host_ / "back/tree/sub/run"), "changed");
  EXPECT_EQ(count_in(host_ / "back/tree/sub"), 2U);
  EXPECT_EQ(count_in(host_ / "back"), 1U);
}

TEST_F(CopyTest, ContentOfADirectoryGoesIntoTheTargetAndLeavesItsMode) {
  make_tree(host_ / "tree");
  fs::permissions(host_ / "tree", fs::perms(0777));
  fs::create_directory(box_ / "d");
  fs::permissions(box_ / "d", fs::perms(0711));
  in(host_ / "tree/.", box_ / "d");
  expect_tree(box_ / "d");
  EXPECT_EQ(mode_of(box_ / "d"), 0711U);
  fs::permissions(box_ / "d", fs::perms(0777));
  fs::create_directory(host_ / "back");
  fs::permissions(host_ / "back", fs::perms(0700));
  out(box_ / "d/.", host_ / "back");
  expect_tree(host_ / "back");
  EXPECT_EQ(mode_of(host_ / "back"), 0700U);
}

TEST_F(CopyTest, LinkAsTheSourceIsFollowed) {
  put(host_ / "file", "content");
  fs::create_symlink("file", host_ / "link");
  in(host_ / "link", box_ / "copy");
  EXPECT_FALSE(is_link(box_ / "copy"));
  EXPECT_EQ(text_of(box_ / "copy"), "content");
  fs::create_symlink("copy", box_ / "link");
  out(box_ / "link", host_ / "back");
  EXPECT_FALSE(is_link(host_ / "back"));
  EXPECT_EQ(text_of(host_ / "back"), "content");
}

TEST_F(CopyTest, LinkAtTheTargetIsReplacedByAFile) {
  put(box_ / "a", "from inside");
  put(host_ / "precious", "mine");
  fs::create_symlink("precious", host_ / "a");
  out(box_ / "a", host_ / "a");
  EXPECT_FALSE(is_link(host_ / "a"));
  EXPECT_EQ(text_of(host_ / "a"), "from inside");
  EXPECT_EQ(text_of(host_ / "precious"), "mine");
  fs::create_directory(host_ / "d");
  fs::create_symlink("../precious", host_ / "d/a");
  out(box_ / "a", host_ / "d");
  EXPECT_EQ(text_of(host_ / "d/a"), "from inside");
  EXPECT_EQ(text_of(host_ / "precious"), "mine");
}

TEST_F(CopyTest, LinksInTheTargetTreeAreReplacedByItsDirectories) {
  fs::create_directories(box_ / "t/d");
  put(box_ / "t/d/x", "from inside");
  fs::create_directories(host_ / "victim");
  fs::create_directories(host_ / "t");
  fs::create_symlink("../victim", host_ / "t/d");
  out(box_ / "t", host_);
  EXPECT_TRUE(fs::is_empty(host_ / "victim"));
  EXPECT_FALSE(is_link(host_ / "t/d"));
  EXPECT_EQ(text_of(host_ / "t/d/x"), "from inside");
}

TEST_F(CopyTest, FifosAreNamedAndNotCopied) {
  fs::create_directory(host_ / "t");
  put(host_ / "t/file", "x");
  ASSERT_EQ(::mkfifo((host_ / "t/fifo").c_str(), 0600), 0);
  EXPECT_EQ(in(host_ / "t", box_).skipped, std::vector<std::string>{"fifo"});
  EXPECT_EQ(count_in(box_ / "t"), 1U);
  ASSERT_EQ(::mkfifo((box_ / "t/fifo").c_str(), 0600), 0);
  EXPECT_EQ(out(box_ / "t", host_ / "back").skipped, std::vector<std::string>{"fifo"});
  EXPECT_EQ(count_in(host_ / "back"), 1U);
  EXPECT_FALSE(copy_in(*client_, host_ / "t/fifo", box_.native()));
  EXPECT_FALSE(copy_out(*client_, (box_ / "t/fifo").native(), host_));
}

TEST_F(CopyTest, LargeFileComesBackWhole) {
  std::string text(50'000'000, '\0');
  for (std::size_t i = 0; i < text.size(); i += 4096)
    text[i] = static_cast<char>(i / 4096);
  put(host_ / "large", text);
  EXPECT_EQ(in(host_ / "large", box_).bytes, text.size());
  EXPECT_EQ(out(box_ / "large", host_ / "back").bytes, text.size());
  EXPECT_TRUE(text_of(host_ / "back") == text);
}

TEST_F(CopyTest, FileThatCannotFitIsRefusedBeforeItIsRead) {
  put(box_ / "sparse", "");
  ASSERT_EQ(::truncate((box_ / "sparse").c_str(), 1LL << 42U), 0);
  EXPECT_THAT(error_of(copy_out(*client_, (box_ / "sparse").native(), host_)),
              HasSubstr("no room"));
  EXPECT_TRUE(fs::is_empty(host_));
}

TEST_F(CopyTest, DeepTreeIsCopiedAndADeeperOneIsAnError) {
  fs::path deep = host_ / "t";
  for (int i = 0; i < 250; ++i)
    deep /= "d";
  fs::create_directories(deep);
  put(deep / "f", "deep");
  in(host_ / "t", box_);
  out(box_ / "t", host_ / "back");
  EXPECT_EQ(text_of(host_ / "back" / fs::relative(deep / "f", host_ / "t")), "deep");
  for (int i = 0; i < 50; ++i)
    deep /= "d";
  fs::create_directories(deep);
  EXPECT_THAT(error_of(copy_in(*client_, host_ / "t", (box_ / "u").native())), HasSubstr("deep"));
  EXPECT_THAT(error_of(copy_out(*client_, (host_ / "t").native(), box_ / "v")), HasSubstr("deep"));
  EXPECT_FALSE(fs::exists(box_ / "v"));
}

TEST_F(CopyTest, StreamsAreOneFile) {
  put(host_ / "a", "streamed");
  const auto source = open_file(host_ / "a", O_RDONLY);
  const auto written = copy_stream_in(*client_, source->get(), (box_ / "b").native(), 04600);
  ASSERT_TRUE(written) << error_of(written);
  EXPECT_EQ(mode_of(box_ / "b"), 0600U);
  const auto sink = open_file(host_ / "c", O_WRONLY | O_CREAT, 0600);
  const auto read = copy_stream_out(*client_, (box_ / "b").native(), sink->get());
  ASSERT_TRUE(read) << error_of(read);
  EXPECT_EQ(text_of(host_ / "c"), "streamed");
  EXPECT_FALSE(copy_stream_in(*client_, source->get(), (box_ / "no/b").native(), 0600));
  EXPECT_FALSE(copy_stream_in(*client_, source->get(), box_.native(), 0600));
  EXPECT_FALSE(copy_stream_out(*client_, box_.native(), sink->get()));
}

TEST_F(CopyTest, DirectoryThatCannotBeReadIsAnErrorAndNotEmpty) {
  if (::geteuid() == 0) GTEST_SKIP() << "root reads every directory";
  fs::create_directories(box_ / "t/closed");
  fs::permissions(box_ / "t/closed", fs::perms::none);
  EXPECT_THAT(error_of(copy_out(*client_, (box_ / "t").native(), host_)), HasSubstr("closed"));
  fs::permissions(box_ / "t/closed", fs::perms::owner_all);
}

}  // namespace
}  // namespace nutshell
