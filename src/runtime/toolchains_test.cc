#include "runtime/toolchains.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/file.h"
#include "base/scratch_fixture.h"
#include "runtime/toolchain_table.h"

namespace nutshell {
namespace {

namespace fs = std::filesystem;

class ToolchainsTest : public testing::Test {
 protected:
  void make_file(const std::string& path, const std::string& text = "x") {
    fs::create_directories((home_ / path).parent_path());
    ASSERT_TRUE(write_file(home_ / path, text)) << path;
  }
  SandboxSpec shown(SandboxSpec spec = {}) {
    spec.toolchains = Toolchains::Auto;
    const auto variable = [this](const char* name) {
      const auto found = variables_.find(name);
      return found == variables_.end() ? std::string() : found->second;
    };
    return with_toolchains(std::move(spec), {home_.path(), variable, {}});
  }
  [[nodiscard]] bool shows(const SandboxSpec& spec, const std::string& path) const {
    return std::any_of(spec.mounts.begin(), spec.mounts.end(), [&](const Mount& mount) {
      return mount.target == (home_ / path).native() && mount.source == mount.target;
    });
  }
  static std::string value_of(const SandboxSpec& spec, const std::string& name) {
    for (const std::string& variable : spec.environment) {
      if (variable.starts_with(name + "=")) return variable.substr(name.size() + 1);
    }
    return "";
  }

  ScratchDirectory home_;
  std::map<std::string, std::string> variables_ = {{"PATH", "/usr/bin:/bin"}};
};

TEST_F(ToolchainsTest, ShowOnlyThePartsThatHoldPrograms) {
  make_file(".pyenv/versions/3.12/bin/python3");
  make_file(".pyenv/shims/python3");
  make_file(".pyenv/version", "3.12\n");
  make_file(".pyenv/.git/config");
  make_file(".pyenv/sources/secret");
  const SandboxSpec spec = shown();
  EXPECT_TRUE(shows(spec, ".pyenv/versions"));
  EXPECT_TRUE(shows(spec, ".pyenv/shims"));
  EXPECT_TRUE(shows(spec, ".pyenv/version"));
  EXPECT_FALSE(shows(spec, ".pyenv"));
  EXPECT_FALSE(shows(spec, ".pyenv/.git"));
  EXPECT_FALSE(shows(spec, ".pyenv/sources"));
  EXPECT_EQ(value_of(spec, "PYENV_ROOT"), (home_ / ".pyenv").native());
  EXPECT_EQ(spec.toolchains, Toolchains::None);
}

TEST_F(ToolchainsTest, NeverShowAPrivatePathEvenIfAVariableNamesIt) {
  for (const std::string_view secret : private_paths()) {
    make_file(std::string(secret) + "/bin/tool");
    variables_["PYENV_ROOT"] = (home_ / std::string(secret)).native();
    const SandboxSpec spec = shown();
    for (const Mount& mount : spec.mounts)
      EXPECT_FALSE(mount.source.starts_with((home_ / std::string(secret)).native())) << secret;
    fs::remove_all(home_ / std::string(secret));
  }
}

TEST_F(ToolchainsTest, NeverShowADirectoryWithAFileOfKeys) {
  for (const std::string_view name : private_names()) {
    make_file(".cargo/bin/cargo");
    make_file(".cargo/bin/" + std::string(name));
    EXPECT_FALSE(shows(shown(), ".cargo/bin")) << name;
    fs::remove_all(home_ / ".cargo");
  }
}

// The directories beside it are shown all the same.
TEST_F(ToolchainsTest, LeaveOutTheDirectoriesOfATokenAndKeepTheOthers) {
  make_file(".nvm/versions/node/v18/bin/node");
  make_file(".nvm/versions/node/v20/bin/node");
  make_file(".nvm/versions/node/v20/etc/npmrc", "//registry/:_authToken=secret");
  make_file(".sdkman/candidates/maven/3.9/bin/mvn");
  make_file(".sdkman/candidates/maven/3.9/conf/settings.xml");
  make_file(".pyenv/versions/3.12/bin/python3");
  make_file(".pyenv/versions/3.12/.python_history");
  const SandboxSpec spec = shown();
  EXPECT_TRUE(shows(spec, ".nvm/versions/node/v18"));
  EXPECT_TRUE(shows(spec, ".nvm/versions/node/v20/bin"));
  EXPECT_TRUE(shows(spec, ".sdkman/candidates/maven/3.9/bin"));
  EXPECT_TRUE(shows(spec, ".pyenv/versions/3.12/bin"));
  for (const Mount& mount : spec.mounts) {
    for (const char* secret :
         {".nvm/versions/node/v20/etc/npmrc", ".sdkman/candidates/maven/3.9/conf/settings.xml",
          ".pyenv/versions/3.12/.python_history"})
      EXPECT_FALSE((home_ / secret).native().starts_with(mount.source + "/")) << mount.source;
  }
}

TEST_F(ToolchainsTest, ShowDownloadedPackagesWithoutTheirSettings) {
  make_file("go/pkg/mod/example.org/module@v1/.env");
  make_file("go/pkg/mod/cache/download/example.org/list");
  make_file("go/pkg/mod/cache/vcs/1/config");
  make_file(".cargo/registry/src/index/crate-1/.npmrc");
  make_file(".cargo/credentials.toml");
  make_file(".m2/repository/org/a.jar");
  make_file(".m2/settings.xml");
  const SandboxSpec spec = shown();
  for (const char* path : {"go/pkg/mod/example.org", "go/pkg/mod/cache/download",
                           ".cargo/registry/src", ".m2/repository"})
    EXPECT_TRUE(shows(spec, path)) << path;
  for (const char* path : {"go/pkg/mod/cache", "go/pkg/mod/cache/vcs", ".cargo", ".m2"})
    EXPECT_FALSE(shows(spec, path)) << path;
  EXPECT_EQ(value_of(spec, "GOMODCACHE"), (home_ / "go/pkg/mod").native());
  EXPECT_EQ(value_of(spec, "CARGO_HOME"), (home_ / ".cargo").native());
  EXPECT_EQ(value_of(spec, "MAVEN_OPTS"),
            "-Dmaven.repo.local=" + (home_ / ".m2/repository").native());
}

TEST_F(ToolchainsTest, NeverShowAHardLinkToAPrivateFile) {
  make_file(".ssh/deploy", "a key");
  make_file(".cargo/bin/cargo");
  make_file(".pyenv/versions/3.12/bin/python3");
  EXPECT_TRUE(shows(shown(), ".pyenv/versions"));
  fs::create_directories(home_ / ".pyenv/versions/3.12/lib/deep/er/still");
  fs::create_hard_link(home_ / ".ssh/deploy", home_ / ".pyenv/versions/3.12/lib/deep/er/still/x");
  const SandboxSpec spec = shown();
  EXPECT_FALSE(shows(spec, ".pyenv/versions"));
  EXPECT_TRUE(shows(spec, ".cargo/bin"));
}

TEST_F(ToolchainsTest, NeverFollowALinkToTheHomeDirectoryOrAboveIt) {
  for (const char* target : {"", "..", ".ssh"}) {
    make_file(".ssh/id_rsa");
    fs::create_directories(home_ / ".cargo");
    fs::create_directory_symlink(home_ / target, home_ / ".cargo/bin");
    EXPECT_FALSE(shows(shown(), ".cargo/bin")) << target;
    fs::remove_all(home_ / ".cargo");
  }
}

TEST_F(ToolchainsTest, KeepTheOrderOfPathAndLeaveOutWhatIsNotShown) {
  make_file(".cargo/bin/cargo");
  make_file("scripts/mine");
  variables_["PATH"] = (home_ / "scripts").native() + ":" + (home_ / ".cargo/bin").native() +
                       ":/usr/bin:relative:/usr/bin";
  const std::string path = value_of(shown(), "PATH") + ":";
  EXPECT_TRUE(path.starts_with((home_ / ".cargo/bin").native() + ":/usr/bin:")) << path;
  EXPECT_EQ(path.find("scripts"), std::string::npos);
  EXPECT_EQ(path.find("relative"), std::string::npos);
  EXPECT_EQ(path.find(":/usr/bin:"), path.rfind(":/usr/bin:"));
}

TEST_F(ToolchainsTest, UseTheNewestVersionWherePathNamesNone) {
  make_file(".nvm/versions/node/v9.1.0/bin/node");
  make_file(".nvm/versions/node/v18.2.0/bin/node");
  const std::string path = value_of(shown(), "PATH");
  EXPECT_TRUE(
      path.starts_with("/usr/bin:/bin:" + (home_ / ".nvm/versions/node/v18.2.0/bin").native()))
      << path;
  EXPECT_EQ(path.find("v9.1.0"), std::string::npos);
}

// As in a sandbox that goes on with the changes of another one.
TEST_F(ToolchainsTest, AreNotShownTwice) {
  make_file(".pyenv/versions/3.12/bin/python3");
  make_file(".pyenv/version", "3.12\n");
  const SandboxSpec spec = shown();
  EXPECT_TRUE(shows(spec, ".pyenv/version"));
  EXPECT_EQ(shown(spec).mounts, spec.mounts);
}

TEST_F(ToolchainsTest, KeepTheCallersVariables) {
  make_file(".rustup/toolchains/stable/bin/rustc");
  variables_["LANG"] = "de_DE.UTF-8";
  SandboxSpec spec;
  spec.environment = {"PATH=/mine", "LANG=C"};
  spec = shown(std::move(spec));
  EXPECT_EQ(value_of(spec, "PATH"), "/mine");
  EXPECT_EQ(value_of(spec, "LANG"), "C");
  EXPECT_EQ(value_of(spec, "RUSTUP_HOME"), (home_ / ".rustup").native());
}

}  // namespace
}  // namespace nutshell
