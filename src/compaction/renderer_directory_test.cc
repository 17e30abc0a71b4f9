#include "compaction/renderer_directory.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/scratch_fixture.h"

namespace nutshell::compaction {
namespace {

constexpr std::string_view kRenderer =
    "name = 'x'\ndrop = ['a']\n[match]\ncommand = ['x']\n"
    "[[tests]]\nname = 't'\ninput = \"a\\nb\"\nexpect = 'b'\n";

TEST(RendererDirectory, BrokenFileDoesNotStopTheOthers) {
  const ScratchDirectory scratch;
  ASSERT_TRUE(write_file(scratch / "a.toml", "name ="));
  ASSERT_TRUE(write_file(scratch / "b.toml", kRenderer));
  ASSERT_TRUE(write_file(scratch / "notes.txt", "no renderer"));
  const auto loaded = load_user_renderers(scratch.path());
  EXPECT_EQ(loaded.renderers.size(), 1U);
  ASSERT_EQ(loaded.problems.size(), 1U);
  EXPECT_NE(loaded.problems[0].find("a.toml"), std::string::npos);
}

TEST(RendererDirectory, MissingDirectoryHasNone) {
  const auto loaded = load_user_renderers("/nonexistent/renderers");
  EXPECT_TRUE(loaded.renderers.empty());
  EXPECT_TRUE(loaded.problems.empty());
}

TEST(RendererDirectory, ProjectFileCountsOnlyAsItWasTrusted) {
  const ScratchDirectory scratch;
  const ScratchDirectory project;
  const TrustedRenderers trusted(scratch / "config/trusted_renderers");
  ASSERT_TRUE(write_file(project / "x.toml", kRenderer));
  EXPECT_TRUE(load_project_renderers(project.path(), trusted).renderers.empty());

  EXPECT_EQ(*trusted.trust(project.path()), 1U);
  EXPECT_EQ(load_project_renderers(project.path(), trusted).renderers.size(), 1U);

  ASSERT_TRUE(write_file(project / "x.toml", std::string(kRenderer) + "# changed\n"));
  const auto changed = load_project_renderers(project.path(), trusted);
  EXPECT_TRUE(changed.renderers.empty());
  ASSERT_EQ(changed.problems.size(), 1U);
  EXPECT_NE(changed.problems[0].find("not trusted"), std::string::npos);
}

TEST(RendererDirectory, WaitsForNoFileThatIsNoRegularOne) {
  const ScratchDirectory scratch;
  const ScratchDirectory project;
  const TrustedRenderers trusted(scratch / "trusted_renderers");
  ASSERT_EQ(::mkfifo((project / "fifo.toml").c_str(), 0600), 0);
  std::filesystem::create_directory(project / "directory.toml");
  std::filesystem::create_symlink("fifo.toml", project / "link.toml");
  std::filesystem::create_symlink("/dev/zero", project / "zero.toml");
  std::filesystem::create_symlink("/dev/tty", project / "terminal.toml");
  const auto loaded = load_project_renderers(project.path(), trusted);
  EXPECT_TRUE(loaded.renderers.empty());
  EXPECT_EQ(loaded.problems.size(), 5U);
  EXPECT_EQ(load_user_renderers(project.path()).problems.size(), 5U);
  EXPECT_FALSE(trusted.trust(project.path()));
}

TEST(RendererDirectory, TrustIsTakenBack) {
  const ScratchDirectory scratch;
  const ScratchDirectory project;
  const TrustedRenderers trusted(scratch / "trusted_renderers");
  ASSERT_TRUE(write_file(project / "x.toml", kRenderer));
  ASSERT_TRUE(trusted.trust(project.path()));
  EXPECT_EQ(*trusted.untrust(project.path()), 1U);
  EXPECT_TRUE(load_project_renderers(project.path(), trusted).renderers.empty());
}

}  // namespace
}  // namespace nutshell::compaction
