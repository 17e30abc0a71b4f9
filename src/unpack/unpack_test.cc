#include "unpack/unpack.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/sha256.h"

namespace nutshell {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// Writes archives with any names.
class ArchiveWriter {
 public:
  enum class Packing { None, Gzip, Xz, Zstd };

  explicit ArchiveWriter(const fs::path& path, Packing packing = Packing::None)
      : archive_(::archive_write_new()) {
    ::archive_write_set_format_pax_restricted(archive_);
    if (packing == Packing::Gzip) ::archive_write_add_filter_gzip(archive_);
    if (packing == Packing::Gzip) ::archive_write_set_options(archive_, "gzip:compression-level=1");
    if (packing == Packing::Xz) ::archive_write_add_filter_xz(archive_);
    if (packing == Packing::Zstd) ::archive_write_add_filter_zstd(archive_);
    EXPECT_EQ(::archive_write_open_filename(archive_, path.c_str()), ARCHIVE_OK);
  }
  ArchiveWriter(const ArchiveWriter&) = delete;
  ArchiveWriter& operator=(const ArchiveWriter&) = delete;
  ~ArchiveWriter() { ::archive_write_free(archive_); }

  ArchiveWriter& file(const std::string& name, const std::string& text, mode_t mode = 0644) {
    add(name, AE_IFREG, mode, "", static_cast<la_int64_t>(text.size()));
    ::archive_write_data(archive_, text.data(), text.size());
    return *this;
  }
  ArchiveWriter& zeros(const std::string& name, std::size_t megabytes) {
    const std::string block(1U << 20U, '\0');
    add(name, AE_IFREG, 0644, "", static_cast<la_int64_t>(megabytes << 20U));
    for (std::size_t i = 0; i < megabytes; ++i) {
      ::archive_write_data(archive_, block.data(), block.size());
    }
    return *this;
  }
  ArchiveWriter& directory(const std::string& name, mode_t mode = 0755) {
    return add(name, AE_IFDIR, mode);
  }
  ArchiveWriter& link(const std::string& name, const std::string& target) {
    return add(name, AE_IFLNK, 0777, target);
  }
  ArchiveWriter& hard_link(const std::string& name, const std::string& target) {
    return add(name, 0, 0644, target);
  }
  ArchiveWriter& node(const std::string& name, unsigned type) { return add(name, type, 0666); }

 private:
  ArchiveWriter& add(const std::string& name, unsigned type, mode_t mode,
                     const std::string& target = "", la_int64_t size = 0) {
    archive_entry* entry = ::archive_entry_new();
    ::archive_entry_copy_pathname(entry, name.c_str());
    ::archive_entry_set_filetype(entry, type == 0 ? AE_IFREG : type);
    ::archive_entry_set_perm(entry, mode);
    ::archive_entry_set_size(entry, size);
    ::archive_entry_set_uid(entry, 4711);
    ::archive_entry_set_gid(entry, 4711);
    ::archive_entry_set_mtime(entry, 1'000'000'000, 0);
    if (type == AE_IFLNK) ::archive_entry_copy_symlink(entry, target.c_str());
    if (type == 0) ::archive_entry_copy_hardlink(entry, target.c_str());
    EXPECT_GE(::archive_write_header(archive_, entry), ARCHIVE_WARN) << name;
    ::archive_entry_free(entry);
    return *this;
  }

  archive* archive_;
};

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct stat status_of(const fs::path& path) {
  struct stat status {};
  EXPECT_EQ(::lstat(path.c_str(), &status), 0) << path;
  return status;
}

class UnpackTest : public testing::Test {
 protected:
  UnpackTest() {
    std::string pattern = (fs::temp_directory_path() / "unpack-test-XXXXXX").native();
    root_ = ::mkdtemp(pattern.data());
    fs::create_directories(target_ = root_ / "target");
    fs::create_directories(root_ / "outside");
    std::ofstream(root_ / "outside/precious") << "mine";
    archive_ = root_ / "archive";
    before_ = fs::current_path();
    fs::current_path(target_);
  }
  ~UnpackTest() override {
    EXPECT_EQ(text_of(root_ / "outside/precious"), "mine");
    EXPECT_EQ(std::distance(fs::directory_iterator(root_ / "outside"), {}), 1);
    EXPECT_EQ(status_of(root_ / "outside/precious").st_nlink, 1U);
    fs::current_path(before_);
    fs::remove_all(root_);
  }

  Result<UnpackReport> unpack(const UnpackLimits& limits = {}) {
    const auto input = open_file(archive_, O_RDONLY);
    EXPECT_TRUE(input);
    return unpack_archive(input->get(), limits, [](std::uint64_t /*bytes*/) {});
  }
  std::string error_of_unpacking(const UnpackLimits& limits = {}) {
    const auto report = unpack(limits);
    return report ? "" : report.error().message;
  }

  fs::path root_;
  fs::path target_;
  fs::path archive_;
  fs::path before_;
};

TEST_F(UnpackTest, RootFileSystemIsUnpacked) {
  ArchiveWriter(archive_)
      .directory("./")
      .directory("./usr/", 0755)
      .file("./usr/tool", "#!", 0755)
      .link("bin", "usr")
      .link("absolute", "/usr/tool")
      .hard_link("./usr/same", "./usr/tool")
      .directory("tmp", 01777)
      .file("made/without/parents", "x")
      .file(
          "gr\xc3\xbc\xc3\x9f"
          "e\n",
          "utf-8")
      .file(std::string(150, 'd') + "/" + std::string(200, 'n'), "long");
  const auto report = unpack();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->entries, 10U);
  EXPECT_EQ(text_of("usr/tool"), "#!");
  EXPECT_EQ(status_of("usr/tool").st_mode & 07777U, 0755U);
  EXPECT_EQ(status_of("usr/tool").st_ino, status_of("usr/same").st_ino);
  EXPECT_EQ(status_of("usr/tool").st_uid, ::geteuid());
  EXPECT_EQ(status_of("usr/tool").st_mtim.tv_sec, 1'000'000'000);
  EXPECT_EQ(fs::read_symlink("bin"), "usr");
  EXPECT_EQ(fs::read_symlink("absolute"), "/usr/tool");
  EXPECT_EQ(status_of("tmp").st_mode & 07777U, 01777U);
  EXPECT_EQ(text_of("made/without/parents"), "x");
  EXPECT_EQ(text_of("gr\xc3\xbc\xc3\x9f"
                    "e\n"),
            "utf-8");
  EXPECT_EQ(text_of(std::string(150, 'd') + "/" + std::string(200, 'n')), "long");
}

TEST_F(UnpackTest, PackedArchivesAreUnderstood) {
  using enum ArchiveWriter::Packing;
  for (const auto packing : {Gzip, Xz, Zstd}) {
    const std::string name = std::to_string(static_cast<int>(packing));
    { ArchiveWriter(archive_, packing).file(name, "packed"); }
    const auto report = unpack();
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_EQ(text_of(name), "packed");
  }
}

TEST_F(UnpackTest, AbsoluteNamesAreTakenRelative) {
  ArchiveWriter(archive_)
      .file((root_ / "outside/precious").native(), "evil")
      .file("//etc//x", "evil");
  ASSERT_EQ(error_of_unpacking(), "");
  EXPECT_EQ(text_of(target_ / (root_ / "outside/precious").relative_path()), "evil");
  EXPECT_EQ(text_of("etc/x"), "evil");
}

TEST_F(UnpackTest, NamesThatLeadOutAreRefused) {
  for (const std::string name : {"../outside/precious", "a/../../outside/x", "..", "./../x"}) {
    { ArchiveWriter(archive_).file(name, "evil"); }
    EXPECT_THAT(error_of_unpacking(), HasSubstr("leads out")) << name;
  }
  EXPECT_TRUE(fs::is_empty(target_));
}

TEST_F(UnpackTest, FileThroughALinkIsRefused) {
  for (const std::string& target : {(root_ / "outside").native(), std::string("../outside")}) {
    { ArchiveWriter(archive_).link("a", target).file("a/precious", "evil"); }
    EXPECT_THAT(error_of_unpacking(), HasSubstr("goes through a link"));
    { ArchiveWriter(archive_).link("a", target).directory("a/b"); }
    EXPECT_THAT(error_of_unpacking(), HasSubstr("goes through a link"));
    { ArchiveWriter(archive_).link("a", target).link("a/b", "x"); }
    EXPECT_THAT(error_of_unpacking(), HasSubstr("goes through a link"));
  }
}

TEST_F(UnpackTest, FileTakesThePlaceOfALink) {
  ArchiveWriter(archive_).link("a", "../outside/precious").file("a", "new");
  ASSERT_EQ(error_of_unpacking(), "");
  EXPECT_FALSE(fs::is_symlink("a"));
  EXPECT_EQ(text_of("a"), "new");
}

TEST_F(UnpackTest, DirectoryDoesNotReachThroughALinkOfItsName) {
  fs::permissions(root_ / "outside", fs::perms(0700));
  ArchiveWriter(archive_).link("a", "../outside").directory("a", 0777);
  (void)unpack();  // replaced or refused: both leave the other directory alone
  EXPECT_EQ(status_of(root_ / "outside").st_mode & 0777U, 0700U);
}

TEST_F(UnpackTest, HardLinksStayInside) {
  { ArchiveWriter(archive_).hard_link("a", "../outside/precious"); }
  EXPECT_THAT(error_of_unpacking(), HasSubstr("leads out"));
  { ArchiveWriter(archive_).hard_link("a", (root_ / "outside/precious").native()); }
  EXPECT_NE(error_of_unpacking(), "");
  { ArchiveWriter(archive_).link("l", "../outside").hard_link("a", "l/precious"); }
  EXPECT_THAT(error_of_unpacking(), HasSubstr("goes through a link"));
  EXPECT_FALSE(fs::exists("a"));
}

// A hard link to a link is a link: writing to its name replaces it.
TEST_F(UnpackTest, HardLinkToALinkDoesNotLeadOut) {
  ArchiveWriter(archive_)
      .link("l", "../outside/precious")
      .hard_link("a", "l")
      .file("a", "evil")
      .file("l", "evil");
  (void)unpack();
  EXPECT_EQ(text_of(root_ / "outside/precious"), "mine");
}

TEST_F(UnpackTest, DevicesAreLeftOut) {
  ArchiveWriter(archive_)
      .node("null", AE_IFCHR)
      .node("disk", AE_IFBLK)
      .node("fifo", AE_IFIFO)
      .file("file", "x");
  const auto report = unpack();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->skipped, 3U);
  EXPECT_EQ(std::distance(fs::directory_iterator("."), {}), 1);
}

TEST_F(UnpackTest, SetIdBitsAreDroppedAndDirectoriesCanBeEmptied) {
  ArchiveWriter(archive_).file("su", "x", 06755).directory("d", 07000).file("d/f", "x", 0400);
  ASSERT_EQ(error_of_unpacking(), "");
  EXPECT_EQ(status_of("su").st_mode & 07777U, 0755U);
  EXPECT_EQ(status_of("d").st_mode & 07777U, 01700U);
  EXPECT_EQ(status_of("d/f").st_mode & 07777U, 0400U);
}

TEST_F(UnpackTest, LaterEntriesReplaceEarlierOnes) {
  ArchiveWriter(archive_).file("a", "first and longer").file("a", "second").file(".wh.a", "");
  ASSERT_EQ(error_of_unpacking(), "");
  EXPECT_EQ(text_of("a"), "second");
  EXPECT_TRUE(fs::exists(".wh.a"));
}

TEST_F(UnpackTest, BombsStop) {
  { ArchiveWriter(archive_, ArchiveWriter::Packing::Gzip).zeros("small", 8).zeros("large", 256); }
  EXPECT_THAT(error_of_unpacking({.bytes = 64U << 20U, .entries = 10}), HasSubstr("more than 64m"));
  EXPECT_FALSE(fs::exists("large"));
  {
    ArchiveWriter writer(archive_);
    for (int i = 0; i < 20; ++i)
      writer.directory("d" + std::to_string(i));
  }
  EXPECT_THAT(error_of_unpacking({.bytes = 1, .entries = 10}), HasSubstr("more than 10 entries"));
}

TEST_F(UnpackTest, DeepDirectoriesAreRefused) {
  std::string name = "d";
  for (int i = 0; i < 300; ++i)
    name += "/d";
  { ArchiveWriter(archive_).directory(name); }
  EXPECT_THAT(error_of_unpacking(), HasSubstr("deeper than 200 directories"));
}

TEST_F(UnpackTest, ArchivesThatUnpackToTooMuchAreRefused) {
  { ArchiveWriter(archive_, ArchiveWriter::Packing::Zstd).zeros("zeros", 128); }
  EXPECT_THAT(error_of_unpacking(), HasSubstr("more than 250 times its size"));
}

TEST_F(UnpackTest, BytesAfterTheArchiveAreBounded) {
  { ArchiveWriter(archive_).file("a", "x"); }
  fs::resize_file(archive_, 200U << 20U);
  EXPECT_THAT(error_of_unpacking({.bytes = 1U << 20U, .entries = 10}), HasSubstr("more than"));
}

TEST_F(UnpackTest, DigestsAreOfTheFileAndOfItsContent) {
  { ArchiveWriter(archive_).file("a", "content"); }
  const std::string plain = sha256_hex(text_of(archive_));
  auto report = unpack();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->packed, plain);
  EXPECT_EQ(report->unpacked, plain);
  const std::string tar = text_of(archive_);
  { ArchiveWriter(archive_, ArchiveWriter::Packing::Gzip).file("a", "content"); }
  std::ofstream(archive_, std::ios::app) << std::string(1'000'000, '\0');  // behind its end
  report = unpack();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->packed, sha256_hex(text_of(archive_)));
  EXPECT_EQ(report->unpacked, plain);
}

TEST_F(UnpackTest, EmptyArchiveIsSoundWhereItMayBe) {
  std::ofstream(archive_) << std::string(1024, '\0');
  EXPECT_THAT(error_of_unpacking(), HasSubstr("empty"));
  EXPECT_EQ(error_of_unpacking({.least_entries = 0}), "");
}

TEST_F(UnpackTest, BrokenArchivesAreErrors) {
  { ArchiveWriter(archive_, ArchiveWriter::Packing::Gzip).file("a", std::string(300'000, 'x')); }
  fs::resize_file(archive_, fs::file_size(archive_) / 2);
  EXPECT_NE(error_of_unpacking(), "");
  { ArchiveWriter(archive_).file("b", std::string(300'000, 'x')); }
  fs::resize_file(archive_, 100'000);
  EXPECT_THAT(error_of_unpacking(), HasSubstr("runcated"));
  std::ofstream(archive_) << "PK this is no archive at all, just some text";
  EXPECT_NE(error_of_unpacking(), "");
  fs::resize_file(archive_, 0);
  EXPECT_NE(error_of_unpacking(), "");
  { ArchiveWriter nothing(archive_); }
  EXPECT_THAT(error_of_unpacking(), HasSubstr("empty"));
}

TEST_F(UnpackTest, ControlCharactersDoNotReachTheTerminal) {
  ArchiveWriter(archive_).file("\x1b]0;title\a/../x", "evil");
  EXPECT_THAT(error_of_unpacking(), HasSubstr("?]0;title?/../x"));
}

class UnpackProgramTest : public UnpackTest {
 protected:
  void SetUp() override {
    program_ =
        fs::read_symlink("/proc/self/exe").parent_path().parent_path() / "bin/nutshell-unpack";
    if (!fs::exists(program_)) GTEST_SKIP() << "the program is not built: " << program_;
  }
  // Runs the program; returns its exit status, and keeps its messages in `messages_`.
  int run(const std::vector<std::string>& arguments) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::dup2(::open(archive_.c_str(), O_RDONLY | O_CLOEXEC), STDIN_FILENO);
      ::dup2(::open(messages_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600),
             STDERR_FILENO);
      std::vector<char*> argv = {program_.data()};
      for (const std::string& argument : arguments)
        argv.push_back(const_cast<char*>(argument.c_str()));
      argv.push_back(nullptr);
      ::execv(program_.c_str(), argv.data());
      ::_exit(127);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  std::string program_;
  fs::path messages_ = root_ / "messages";
};

TEST_F(UnpackProgramTest, UnpacksIntoItsDirectory) {
  ArchiveWriter(archive_).directory("d").file("d/f", "x").node("null", AE_IFCHR);
  fs::current_path(root_);
  EXPECT_EQ(run({"target"}), 0) << text_of(messages_);
  EXPECT_EQ(text_of(target_ / "d/f"), "x");
  EXPECT_EQ(text_of(messages_), "nutshell-unpack: left out 1 devices, FIFOs or sockets\n");
}

TEST_F(UnpackProgramTest, SaysInOneLineWhatIsWrong) {
  ArchiveWriter(archive_).file("../outside/x", "evil");
  EXPECT_EQ(run({target_}), 1);
  EXPECT_EQ(text_of(messages_), "nutshell-unpack: '../outside/x' leads out of the directory\n");
  EXPECT_EQ(run({root_ / "missing"}), 1);
  EXPECT_THAT(text_of(messages_), HasSubstr("No such file or directory"));
  EXPECT_EQ(run({}), 1);
  EXPECT_THAT(text_of(messages_), HasSubstr("usage: "));
}

}  // namespace
}  // namespace nutshell
