#include "backends/native/files/root_template.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "base/file.h"
#include "base/scratch_fixture.h"

namespace nutshell::native {
namespace {

class RootTemplateTest : public testing::Test {
 protected:
  RootTemplateTest() { ::setenv("NUTSHELL_RUNTIME_DIR", runtime().c_str(), 1); }
  ~RootTemplateTest() override { ::unsetenv("NUTSHELL_RUNTIME_DIR"); }

  [[nodiscard]] std::filesystem::path runtime() const { return scratch_ / "runtime"; }

  static Result<RootTemplate> open() { return RootTemplate::open(find_privilege()); }

  [[nodiscard]] std::vector<std::filesystem::path> entries() const {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator(runtime()))
      found.push_back(entry.path());
    return found;
  }

  static std::size_t swept() {
    SweepReport report;
    sweep_root_templates(SweepMode::Remove, report);
    return report.removed.size();
  }

 private:
  ScratchDirectory scratch_;
};

TEST_F(RootTemplateTest, IsMadeOnceAndFoundAgain) {
  ASSERT_TRUE(open());
  ASSERT_EQ(entries().size(), 1U);
  struct stat first {};
  ASSERT_EQ(::stat(entries()[0].c_str(), &first), 0);
  ASSERT_TRUE(open());
  ASSERT_EQ(entries().size(), 1U);
  struct stat second {};
  ASSERT_EQ(::stat(entries()[0].c_str(), &second), 0);
  EXPECT_EQ(first.st_ino, second.st_ino);
}

TEST_F(RootTemplateTest, HoldsWhatProgramsNeed) {
  const mode_t mask = ::umask(077);  // which would keep the sandbox's user out
  const auto made = open();
  ::umask(mask);
  ASSERT_TRUE(made) << made.error().message;
  const std::filesystem::path tree = entries()[0] / "tree";
  EXPECT_TRUE(std::filesystem::exists(tree / "etc/passwd"));
  struct stat status {};
  ASSERT_EQ(::stat((tree / "etc").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0755U);
  ASSERT_EQ(::stat((tree / "etc/passwd").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0644U);
  ASSERT_FALSE(made->mounts().empty());
  EXPECT_EQ(made->mounts()[0], "usr");
}

TEST_F(RootTemplateTest, HoldsNoSecretOfTheHost) {
  const auto made = open();
  ASSERT_TRUE(made);
  const auto passwd = read_file(entries()[0] / "tree/etc/passwd");
  ASSERT_TRUE(passwd);
  EXPECT_NE(*passwd, read_file("/etc/passwd").value_or(""));
  EXPECT_NE(read_file(entries()[0] / "tree/etc/machine-id").value_or(""),
            read_file("/etc/machine-id").value_or("none"));
}

TEST_F(RootTemplateTest, IsSweptWhenOutdatedAndUnused) {
  const std::filesystem::path old = runtime() / "root-0123456789abcdef";
  {
    const auto made = open();
    ASSERT_TRUE(made);
    std::filesystem::rename(entries()[0], old);
    EXPECT_EQ(swept(), 0U);
    EXPECT_TRUE(std::filesystem::exists(old));
  }
  EXPECT_EQ(swept(), 1U);
  EXPECT_FALSE(std::filesystem::exists(old));
}

TEST_F(RootTemplateTest, IsSweptIfItIsUnfinished) {
  ASSERT_TRUE(open());
  std::filesystem::create_directory(runtime() / ".root-0123456789abcdef");
  EXPECT_EQ(swept(), 1U);
}

TEST_F(RootTemplateTest, BehindALinkIsRefused) {
  ASSERT_TRUE(open());
  const std::filesystem::path place = entries()[0];
  std::filesystem::rename(place, runtime() / "elsewhere");
  std::filesystem::create_symlink("elsewhere", place);
  EXPECT_FALSE(open());
}

}  // namespace
}  // namespace nutshell::native
