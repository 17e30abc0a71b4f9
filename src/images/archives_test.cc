// The writers and readers of archives: tar, Debian packages, ELF.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "base/file.h"
#include "base/scratch_fixture.h"
#include "base/sha256.h"
#include "base/signal_fixture.h"
#include "images/deb_package.h"
#include "images/default_image.h"
#include "images/elf_needs.h"
#include "images/run_program.h"
#include "images/tar_writer.h"

namespace nutshell::images {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

class TarWriter : public testing::Test {
 protected:
  TarWriter() { fs::create_directories(tree_); }
  std::string write() {
    const auto output = open_file(archive_, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    EXPECT_TRUE(output);
    const auto written = write_tar(tree_, output->get());
    EXPECT_TRUE(written) << written.error().message;
    return *read_file(archive_, 16U << 20U);
  }

  ScratchDirectory scratch_;
  fs::path tree_ = scratch_ / "tree";
  fs::path archive_ = scratch_ / "tree.tar";
};

TEST_F(TarWriter, IsReadByTarAgain) {
  const std::string long_name = std::string(120, 'l') + "/" + std::string(150, 'm');
  fs::create_directories(tree_ / std::string(120, 'l'));
  std::ofstream(tree_ / long_name) << "long";
  std::ofstream(tree_ / "exact") << std::string(1024, 'x');
  std::ofstream(tree_ / "empty");
  fs::create_symlink("/etc/passwd", tree_ / "link");
  fs::create_symlink(std::string(300, 't'), tree_ / "long-link");
  ::chmod((tree_ / "exact").c_str(), 0750);
  write();
  fs::create_directories(scratch_ / "back");
  const auto unpacked =
      run_program({.arguments = {"tar", "-xf", archive_.native()}, .directory = scratch_ / "back"},
                  Deadline::in(20s));
  ASSERT_TRUE(unpacked) << unpacked.error().message;
  EXPECT_EQ(*read_file(scratch_ / "back" / fs::path(long_name)), "long");
  EXPECT_EQ(*read_file(scratch_ / "back/exact"), std::string(1024, 'x'));
  EXPECT_EQ(fs::file_size(scratch_ / "back/empty"), 0U);
  EXPECT_EQ(fs::read_symlink(scratch_ / "back/link"), "/etc/passwd");
  EXPECT_EQ(fs::read_symlink(scratch_ / "back/long-link"), std::string(300, 't'));
  struct stat status {};
  ASSERT_EQ(::stat((scratch_ / "back/exact").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0750U);
}

TEST_F(TarWriter, SameFilesAreTheSameBytes) {
  std::ofstream(tree_ / "b") << "2";
  std::ofstream(tree_ / "a") << "1";
  const std::string first = sha256_hex(write());
  fs::last_write_time(tree_ / "a", fs::file_time_type(std::chrono::hours(1000)));
  fs::remove(tree_ / "b");
  std::ofstream(tree_ / "b") << "2";
  EXPECT_EQ(sha256_hex(write()), first);
}

TEST(DebPackage, HasItsFilesInOneMember) {
  const auto member = [](const std::string& name, const std::string& bytes) {
    return fmt::format("{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n{}{}", name, 0, 0, 0, "100644",
                       bytes.size(), bytes, bytes.size() % 2 != 0 ? "\n" : "");
  };
  const ScratchDirectory scratch;
  const std::string whole = "!<arch>\n" + member("debian-binary", "2.0\n") +
                            member("control.tar.xz", "odd") + member("data.tar.xz", "DATA");
  std::ofstream(scratch / "a.deb") << whole;
  const auto file = open_file(scratch / "a.deb", O_RDONLY);
  ASSERT_TRUE(file);
  const auto range = find_package_data(file->get());
  ASSERT_TRUE(range) << range.error().message;
  EXPECT_EQ(whole.substr(range->offset, range->size), "DATA");
  for (const std::string& broken :
       {std::string("!<arch>\n"), whole.substr(0, 100), std::string("PK\3\4 no package"),
        "!<arch>\n" + std::string(60, 'x'),
        "!<arch>\n" + member("debian-binary", "2.0\n").replace(48, 10, "-1        ")}) {
    std::ofstream(scratch / "b.deb") << broken;
    const auto bad = open_file(scratch / "b.deb", O_RDONLY);
    EXPECT_FALSE(find_package_data(bad->get()));
  }
}

TEST(ElfNeeds, AreTheLibrariesAndLoaderOfAProgram) {
  const auto bytes = read_file("/bin/ls", 16U << 20U);
  ASSERT_TRUE(bytes);
  const auto needs = read_elf_needs(*bytes);
  ASSERT_TRUE(needs) << needs.error().message;
  EXPECT_THAT(needs->libraries, Contains("libc.so.6"));
  EXPECT_THAT(needs->interpreter, HasSubstr("/ld-linux"));
}

TEST(ElfNeeds, AreRefusedOrFewForBrokenFiles) {
  const auto bytes = read_file("/bin/ls", 16U << 20U);
  ASSERT_TRUE(bytes);
  for (std::size_t size = 0; size < 4096; ++size)
    (void)read_elf_needs(std::string_view(*bytes).substr(0, size));
  for (std::size_t at = 16; at < 1024; ++at) {
    std::string broken = *bytes;
    broken[at] = '\xff';
    (void)read_elf_needs(broken);
  }
  EXPECT_FALSE(read_elf_needs("#!/bin/sh"));
  EXPECT_FALSE(read_elf_needs(""));
}

TEST(DefaultImage, PackagesAreReadFromTheListing) {
  EXPECT_THAT(packages_in("bash\n  Depends: libc6\n  PreDepends: <awk>\n |Depends: debconf\n"
                          "libc6\n<awk>\nlibstdc++6\nperl:any\n../evil\n-o\n"),
              ElementsAre("bash", "libc6", "libstdc++6"));
}

TEST(RunProgram, TellsWhatWentWrong) {
  const ScratchDirectory scratch;
  EXPECT_EQ(
      *run_program({.arguments = {"echo", "x"}, .directory = scratch.path()}, Deadline::in(20s)),
      "x\n");
  const auto failed = run_program({.arguments = {"ls", "/nowhere"}, .directory = scratch.path()},
                                  Deadline::in(20s));
  EXPECT_THAT(failed.error().message, HasSubstr("/nowhere"));
  EXPECT_FALSE(run_program({.arguments = {"no-such-program"}, .directory = scratch.path()},
                           Deadline::in(20s)));
  const auto slow =
      run_program({.arguments = {"sleep", "60"}, .directory = scratch.path()}, Deadline::in(50ms));
  EXPECT_THAT(slow.error().message, HasSubstr("too long"));
}

TEST(RunProgram, LeavesOurSignalsToUs) {
  const DaemonSignals daemon;
  const ScratchDirectory scratch;
  const auto status = run_program(
      {.arguments = {"cat", "/proc/self/status"}, .directory = scratch.path()}, Deadline::in(20s));
  ASSERT_TRUE(status) << status.error().message;
  expect_clean_signals(*status);
}

}  // namespace
}  // namespace nutshell::images
