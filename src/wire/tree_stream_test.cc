#include "wire/tree_stream.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <thread>

#include "base/file.h"
#include "base/scratch_fixture.h"
#include "base/socket.h"
#include "wire/codec.h"
#include "wire/start_report.h"

namespace nutshell::wire {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

class TreeStream : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directory(from_ = directory_ / "from");
    fs::create_directory(to_ = directory_ / "to");
    connect();
  }
  void connect() {
    auto pair = make_socket_pair(SocketKind::Stream);
    ASSERT_TRUE(pair) << pair.error().message;
    host_ = std::move(pair->first);
    init_ = std::move(pair->second);
  }
  static void put(const fs::path& path, std::string_view text) {
    std::ofstream(path, std::ios::binary) << text;
  }
  static std::string text_of(const fs::path& path) {
    return read_file(path, 8U << 20U).value_or("missing");
  }
  // Acts as init in container.cc: receives, then answers.
  Result<SpecialFiles> bring() {
    std::thread init([this] {
      const auto to = open_file(to_, O_RDONLY | O_DIRECTORY);
      const auto received = receive_tree(init_.get(), to->get(), Deadline::in(20s));
      EXPECT_TRUE(report_copy(init_.get(), received));
      if (received) return;
      std::array<char, 4096> rest{};
      while (::read(init_.get(), rest.data(), rest.size()) > 0) {
      }
    });
    auto brought = bring_directory(host_.get(), from_, Deadline::in(20s));
    if (!brought) ::shutdown(host_.get(), SHUT_RDWR);
    init.join();
    return brought;
  }
  // Returns the result of receiving these bytes.
  ErrorCode code_after(std::string bytes) {
    EXPECT_TRUE(write_all(host_.get(), bytes));
    host_.reset();
    const auto to = open_file(to_, O_RDONLY | O_DIRECTORY);
    const auto received = receive_tree(init_.get(), to->get(), Deadline::in(20s));
    EXPECT_FALSE(received);
    return received ? ErrorCode::Internal : received.error().code;
  }
  static std::string number(std::uint32_t value) {
    return {reinterpret_cast<const char*>(&value), sizeof value};
  }
  static std::string batch_of(const TreeEntry& entry) {
    const std::string bytes = encode(entry);
    return number(static_cast<std::uint32_t>(bytes.size() + 4)) +
           number(static_cast<std::uint32_t>(bytes.size())) + bytes;
  }

  ScratchDirectory directory_;
  fs::path from_;
  fs::path to_;
  UniqueFd host_;
  UniqueFd init_;
};

TEST_F(TreeStream, BringsFilesDirectoriesAndLinks) {
  fs::create_directories(from_ / "a/b/c");
  std::string large(3U << 20U, '\0');
  for (std::size_t i = 0; i < large.size(); ++i)
    large[i] = static_cast<char>(i * 2654435761U >> 13U);
  put(from_ / "large", large);
  put(from_ / "a/b/script", "#!/bin/sh\n");
  put(from_ / "a/empty", "");
  ASSERT_EQ(::chmod((from_ / "a/b/script").c_str(), 0755), 0);
  const std::array<timespec, 2> times = {timespec{1000, 5}, timespec{2000, 7}};
  ASSERT_EQ(::utimensat(AT_FDCWD, (from_ / "a/b").c_str(), times.data(), 0), 0);
  fs::create_symlink("../../etc/passwd", from_ / "link");
  for (int i = 0; i < 3000; ++i)
    put(from_ / "a/b/c" / std::to_string(i), std::to_string(i));
  const auto brought = bring();
  ASSERT_TRUE(brought) << brought.error().message;
  EXPECT_EQ(brought->count, 0U);
  EXPECT_EQ(text_of(to_ / "large"), large);
  EXPECT_EQ(text_of(to_ / "a/empty"), "");
  EXPECT_EQ(text_of(to_ / "a/b/c/2999"), "2999");
  EXPECT_EQ(fs::read_symlink(to_ / "link"), "../../etc/passwd");
  struct stat status {};
  ASSERT_EQ(::stat((to_ / "a/b/script").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0755U);
  ASSERT_EQ(::stat((to_ / "a/b").c_str(), &status), 0);
  EXPECT_EQ(status.st_mtim.tv_sec, 2000);
  EXPECT_EQ(status.st_mtim.tv_nsec, 7);
}

TEST_F(TreeStream, LeavesOutAndNamesSocketsAndFifosAtAnyDepth) {
  fs::create_directories(from_ / "deep/er");
  ASSERT_EQ(::mkfifo((from_ / "deep/er/pipe").c_str(), 0666), 0);
  const auto listener = listen_on((from_ / "s").native(), SocketKind::Stream);
  ASSERT_TRUE(listener) << listener.error().message;
  put(from_ / "deep/file", "x");
  const auto brought = bring();
  ASSERT_TRUE(brought) << brought.error().message;
  EXPECT_EQ(brought->count, 2U);
  const std::string text = brought->text("/w");
  EXPECT_NE(text.find("deep/er/pipe"), std::string::npos) << text;
  EXPECT_NE(text.find("2 sockets, FIFOs or devices"), std::string::npos) << text;
  EXPECT_FALSE(fs::exists(to_ / "s"));
  EXPECT_FALSE(fs::exists(to_ / "deep/er/pipe"));
  EXPECT_EQ(text_of(to_ / "deep/file"), "x");
}

TEST_F(TreeStream, NamesOnlyTheFirstOfMany) {
  for (int i = 0; i < 20; ++i)
    ASSERT_EQ(::mkfifo((from_ / std::to_string(i)).c_str(), 0666), 0);
  const auto brought = bring();
  ASSERT_TRUE(brought) << brought.error().message;
  EXPECT_EQ(brought->named.size(), SpecialFiles::kMostNamed);
  EXPECT_NE(brought->text("/w").find("and 12 more"), std::string::npos);
}

TEST_F(TreeStream, LeavesOutWhatTheOwnerOfTheDirectoryMayNotRead) {
  put(from_ / "open", "x");
  put(from_ / "closed", "x");
  ASSERT_EQ(::chmod((from_ / "closed").c_str(), 0), 0);
  if (::geteuid() == 0) {
    put(from_ / "others", "x");
    ASSERT_EQ(::chmod((from_ / "others").c_str(), 0600), 0);
    ASSERT_EQ(::chown((from_ / "others").c_str(), 4711, 4711), 0);
  }
  const auto brought = bring();
  ASSERT_TRUE(brought) << brought.error().message;
  EXPECT_TRUE(fs::exists(to_ / "open"));
  EXPECT_FALSE(fs::exists(to_ / "closed"));
  EXPECT_FALSE(fs::exists(to_ / "others"));
}

TEST_F(TreeStream, TellsWhyInitStoppedInTheMiddle) {
  put(from_ / "large", std::string(4U << 20U, 'x'));
  put(to_ / "large", "in the way");
  const auto brought = bring();
  ASSERT_FALSE(brought);
  EXPECT_EQ(brought.error().code, ErrorCode::AlreadyExists) << brought.error().message;
}

TEST_F(TreeStream, TakesNoByteBehindTheEnd) {
  put(from_ / "f", "x");
  ASSERT_TRUE(send_tree(host_.get(), from_, Deadline::in(20s)));
  ASSERT_TRUE(write_all(host_.get(), "next"));
  host_.reset();
  const auto to = open_file(to_, O_RDONLY | O_DIRECTORY);
  const auto received = receive_tree(init_.get(), to->get(), Deadline::in(20s));
  ASSERT_TRUE(received) << received.error().message;
  EXPECT_EQ(read_all(init_.get(), 100).value_or(""), "next");
}

TEST_F(TreeStream, NamesThatLeadElsewhereAreRefused) {
  for (const char* name : {"..", "a/b", "", "."}) {
    connect();
    TreeEntry entry;
    entry.kind = TreeEntry::Kind::File;
    entry.name = name;
    EXPECT_EQ(code_after(batch_of(entry) + number(4) + number(0)), ErrorCode::Corrupt) << name;
  }
}

TEST_F(TreeStream, CutAndForgedStreamsAreErrors) {
  EXPECT_EQ(code_after(number(100) + "abc"), ErrorCode::Unavailable);
  EXPECT_EQ((connect(), code_after(number(~0U))), ErrorCode::Corrupt);
  EXPECT_EQ((connect(), code_after(number(4) + number(~0U))), ErrorCode::Corrupt);
  EXPECT_EQ((connect(), code_after(number(0))), ErrorCode::Corrupt);
}

}  // namespace
}  // namespace nutshell::wire
