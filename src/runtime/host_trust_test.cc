#include "runtime/host_trust.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "runtime/folded_name.h"
#include "runtime/trusted_paths.h"
#include "runtime/workspace_changes.h"

namespace nutshell {
namespace {

using enum HostTrust;
using wire::FileChange;
using wire::FileKind;

// A judge of paths alone: the test says which files exist and what they contain.
struct World {
  std::set<std::string> existing;
  std::map<std::string, std::string> before;
  std::map<std::string, std::string> after;
  std::string prefix;
  bool has_sha1 = true;

  TrustVerdict judge(const FileChange& change) const {
    const auto text_in = [](const std::map<std::string, std::string>& texts) {
      return [&texts](const FileChange& wanted) -> Result<std::optional<std::string>> {
        const auto found = texts.find(wanted.path);
        return found == texts.end() ? std::optional<std::string>() : std::optional(found->second);
      };
    };
    TrustSources sources;
    sources.exists = [this](const std::string& path) -> Result<bool> {
      return existing.contains(path);
    };
    sources.before = text_in(before);
    sources.after = text_in(after);
    sources.has_sha1_index = [this](const std::string&) -> Result<bool> { return has_sha1; };
    sources.prefix = prefix;
    TrustJudge judge(std::move(sources));
    auto verdict = judge.judge(change);
    EXPECT_TRUE(verdict) << verdict.error().message;
    return verdict ? *verdict : TrustVerdict();
  }
};

FileChange added(const std::string& path, FileKind kind = FileKind::Regular,
                 std::uint32_t mode = 0644) {
  FileChange change;
  change.path = path;
  change.kind = wire::ChangeKind::Added;
  change.before.kind = kNoFile;
  change.after.kind = kind;
  change.after.mode = mode;
  return change;
}

FileChange removed(const std::string& path, FileKind kind = FileKind::Regular) {
  FileChange change = added(path);
  change.kind = wire::ChangeKind::Removed;
  change.before.kind = kind;
  change.after.kind = kNoFile;
  return change;
}

const std::string kHash = "0123456789abcdef0123456789abcdef01234567";

struct Case {
  std::string path;
  HostTrust trust;
};

TEST(HostTrust, TellsPathsApart) {
  const std::vector<Case> cases = {
      // Ordinary files, including those that a user runs on purpose.
      {"src/main.c", Plain},
      {"Makefile", Plain},
      {"build.sh", Plain},
      {"tests/conftest.py", Plain},
      {".gitignore", Plain},
      {".gitattributes", Plain},
      {".github/workflows/ci.yml", Plain},
      {".env", Plain},
      {"git/config", Plain},
      {"hooks/pre-commit", Plain},
      {"gitty", Plain},
      {"config", Plain},
      {"my.envrc", Plain},
      {"docs/claude.markdown", Plain},

      // Data of git.
      {".git/objects/ab/cdef0123456789abcdef0123456789abcdef01", GitData},
      {".git/objects/pack/pack-" + kHash + ".pack", GitData},
      {".git/objects/pack/pack-" + kHash + ".idx", GitData},
      {".git/objects/pack/multi-pack-index", GitData},
      {".git/objects/info/commit-graph", GitData},
      {".git/logs/HEAD", GitData},
      {".git/logs/refs/heads/main", GitData},
      {".git/packed-refs", GitData},
      {".git/ORIG_HEAD", GitData},
      {".git/FETCH_HEAD", GitData},
      {".git/COMMIT_EDITMSG", GitData},
      {".git/MERGE_MSG", GitData},
      {".git/modules/lib/objects/ab/cdef0123456789abcdef0123456789abcdef01", GitData},
      {".git/modules/deep/er/lib/packed-refs", GitData},
      {"vendor/x/.git/packed-refs", GitData},

      // Files that git runs, or that lead git elsewhere.
      {".git", GitRuns},  // a file or a link
      {"sub/.git", GitRuns},
      {".git/config", GitRuns},
      {".git/config.worktree", GitRuns},
      {".git/Config", GitRuns},
      {".git/hooks/pre-commit", GitRuns},
      {".git/hooks/pre-commit.sample", GitRuns},
      {".git/info/attributes", GitRuns},
      {".git/info/exclude", GitRuns},
      {".git/commondir", GitRuns},
      {".git/gitdir", GitRuns},
      {".git/objects/info/alternates", GitRuns},
      {".git/objects/info/http-alternates", GitRuns},
      {".git/objects/hooks/pre-commit", GitRuns},
      {".git/objects/ab/tmp_obj_x", GitRuns},
      {".git/Objects/ab/cdef0123456789abcdef0123456789abcdef01", GitRuns},
      {".git/rebase-merge/git-rebase-todo", GitRuns},
      {".git/rebase-apply/patch", GitRuns},
      {".git/sequencer/opts", GitRuns},
      {".git/index.lock", GitRuns},
      {".git/refs/heads/main.lock", GitRuns},
      {".git/sharedindex." + kHash, GitRuns},
      {".git/worktrees/w/HEAD", GitRuns},
      {".git/worktrees/w/commondir", GitRuns},
      {".git/modules/lib/config", GitRuns},
      {".git/modules/lib/hooks/post-checkout", GitRuns},
      {".git/modules/refs/hooks/post-checkout", GitRuns},
      {".git/modules/lib/.git", GitRuns},
      {".git/logs/objects/x", GitRuns},
      {".git/refs/x/commondir", GitRuns},
      {".git/new-in-the-next-version", GitRuns},
      {"deep/er/.git/config", GitRuns},

      // Names that some file system takes for ".git".
      {".GIT/config", GitRuns},
      {".Git/hooks/pre-commit", GitRuns},
      {"git~1/config", GitRuns},
      {"GIT~2", GitRuns},
      {".git./config", GitRuns},
      {".git /config", GitRuns},
      {".git...  /hooks/x", GitRuns},
      {".git::$INDEX_ALLOCATION/config", GitRuns},
      {".g\u200cit/config", GitRuns},
      {"\ufeff.git/config", GitRuns},
      {".gi\u00adt/config", GitRuns},
      {"a\\.git\\config", GitRuns},
      {".git\\hooks", GitRuns},
      {"git~x/config", Plain},

      // Files that a tool runs or trusts.
      {".envrc", Trusted},
      {"sub/.envrc", Trusted},
      {".envrc.local", Trusted},
      {".ENVRC", Trusted},
      {".en\u200bvrc", Trusted},
      {".rvmrc", Trusted},
      {".hg/hgrc", Trusted},
      {"sub/.HG/hgrc", Trusted},
      {".hgignore", Plain},
      {".jj/repo/config.toml", Trusted},
      {"_darcs/prefs/defaults", Trusted},
      {".pnp.cjs", Trusted},
      {".mcp.json", Trusted},
      {".claude/settings.json", Trusted},
      {".claude", Trusted},
      {"web/.vscode/tasks.json", Trusted},
      {"x.code-workspace", Trusted},
      {".idea/workspace.xml", Trusted},
      {".hus\u212ay/pre-commit", Trusted},  // the Kelvin sign
      {".devcontainer/devcontainer.json", Trusted},
      {".pre-commit-config.yaml", Trusted},
      {"lefthook-local.yml", Trusted},
      {".gitmodules", Trusted},
      {"GITMOD~1", Trusted},
      {".yarnrc.yml", Trusted},
      {".yarn/releases/yarn.cjs", Trusted},
      {".yarn/cache/x.zip", Plain},
      {".npmrc", Trusted},
      {"CLAUDE.md", Trusted},
      {"AGENTS.md", Trusted},
      {".github/copilot-instructions.md", Trusted},
      {".nvim.lua", Trusted},
      {".tool-versions", Trusted},
      {"mise.local.toml", Trusted},
      {".bashrc", Trusted},
      {".ssh/authorized_keys", Trusted},
  };
  for (const Case& one : cases)
    EXPECT_EQ(World().judge(added(one.path)).trust, one.trust) << one.path;
}

TEST(HostTrust, HasARowOfTheTableForEachPattern) {
  for (const TrustedPath& row : trusted_paths()) {
    std::string path(row.pattern);
    const std::size_t star = path.find('*');
    if (star != std::string::npos) path.replace(star, 1, "0");
    EXPECT_EQ(World().judge(added(path)).trust, Trusted) << path;
    EXPECT_EQ(World().judge(added("some/where/" + path + "/below")).trust, Trusted) << path;
    EXPECT_EQ(World().judge(removed(path)).trust, Trusted) << path;
    EXPECT_EQ(World().judge(added("x" + path + "x")).trust, Plain) << path;
    EXPECT_FALSE(row.tool.empty() || row.why.empty()) << path;
  }
}

TEST(HostTrust, NamesTheTrustedPathItself) {
  EXPECT_EQ(World().judge(added("web/.vscode/a/b.json")).root, "web/.vscode");
  EXPECT_EQ(World().judge(added("sub/.envrc")).root, "sub/.envrc");
}

TEST(HostTrust, HoldsLinksAndProgramsInAGitDirectory) {
  const std::string object = ".git/objects/ab/cdef0123456789abcdef0123456789abcdef01";
  EXPECT_EQ(World().judge(added(object, FileKind::Link)).trust, GitRuns);
  EXPECT_EQ(World().judge(added(object, FileKind::Regular, 0755)).trust, GitRuns);
  EXPECT_EQ(World().judge(added(".git", FileKind::Link)).trust, GitRuns);
  EXPECT_EQ(World().judge(added(".git/objects", FileKind::Link)).trust, GitRuns);
  EXPECT_EQ(World().judge(added(".git/logs/refs/heads/x", FileKind::Regular, 0755)).trust, GitRuns);
}

TEST(HostTrust, TakesTheDirectoriesOfGitData) {
  for (const char* path :
       {".git", ".git/objects", ".git/objects/ab", ".git/objects/pack", ".git/refs",
        ".git/refs/heads/feature", ".git/logs/refs", ".git/modules", ".git/modules/lib"}) {
    EXPECT_EQ(World().judge(added(path, FileKind::Directory, 0755)).trust, GitData) << path;
  }
  for (const char* path :
       {".git/hooks", ".git/info", ".git/worktrees", ".git/rebase-merge", ".git/objects/xyz"}) {
    EXPECT_EQ(World().judge(added(path, FileKind::Directory, 0755)).trust, GitRuns) << path;
  }
}

TEST(HostTrust, HoldsWhatWouldEndARepository) {
  EXPECT_EQ(World().judge(removed(".git", FileKind::Directory)).trust, GitRuns);
  EXPECT_EQ(World().judge(removed(".git/HEAD")).trust, GitRuns);
  EXPECT_EQ(World().judge(removed(".git/config")).trust, GitRuns);
  EXPECT_EQ(World().judge(removed(".git/hooks/pre-commit")).trust, GitRuns);
  EXPECT_EQ(World().judge(removed(".git/refs/heads/old")).trust, GitData);
  FileChange replaced = added(".git", FileKind::Directory, 0755);
  replaced.before.kind = FileKind::Regular;  // a submodule's file becomes a directory
  EXPECT_EQ(World().judge(replaced).trust, GitRuns);
}

TEST(HostTrust, LooksIntoReferences) {
  const std::vector<std::pair<std::string, HostTrust>> contents = {
      {kHash + "\n", GitData},
      {kHash, GitData},
      {"ref: refs/heads/main\n", GitData},
      {"ref: refs/../../etc/passwd\n", GitRuns},
      {"ref: /etc/passwd\n", GitRuns},
      {"[core]\n\tfsmonitor = evil\n", GitRuns},
      {"#!/bin/sh\n", GitRuns},
      {"", GitRuns},
  };
  for (const auto& [content, trust] : contents) {
    for (const char* path : {".git/HEAD", ".git/refs/heads/main", ".git/refs/hooks/post-commit"}) {
      World world;
      world.after[path] = content;
      EXPECT_EQ(world.judge(added(path)).trust, trust) << path << ": " << content;
    }
  }
}

TEST(HostTrust, HoldsLinksOnTheWayToATrustedPath) {
  for (const char* path : {".github", "sub/.yarn", ".config"}) {
    EXPECT_EQ(World().judge(added(path, FileKind::Link)).trust, Trusted) << path;
    EXPECT_EQ(World().judge(added(path, FileKind::Directory, 0755)).trust, Plain) << path;
  }
  EXPECT_EQ(World().judge(added("github", FileKind::Link)).trust, Plain);
}

TEST(HostTrust, HoldsBranchesThatAPromptWouldRun) {
  World world;
  world.after[".git/HEAD"] = "ref: refs/heads/$(touch${IFS}x)\n";
  EXPECT_EQ(world.judge(added(".git/HEAD")).trust, GitRuns);
  const std::string branch = ".git/refs/heads/`x`";
  world.after[branch] = kHash;
  EXPECT_EQ(world.judge(added(branch)).trust, GitRuns);
  EXPECT_EQ(world.judge(added(".git/logs/refs/heads/a;b")).trust, GitRuns);
}

TEST(HostTrust, ComparesWithWhatTheHostsGitRuns) {
  TrustSources sources;
  sources.exists = [](const std::string&) -> Result<bool> { return false; };
  sources.run_by_git = {"tools/hooks"};
  TrustJudge judge(std::move(sources));
  EXPECT_EQ(judge.judge(added("tools/hooks/pre-commit"))->root, "tools/hooks");
  EXPECT_EQ(judge.judge(added("tools", FileKind::Link))->trust, Trusted);
  EXPECT_EQ(judge.judge(added("tools", FileKind::Directory))->trust, Plain);
  EXPECT_EQ(judge.judge(added("tools/other"))->trust, Plain);
}

TEST(HostTrust, HoldsObjectsThatChange) {
  for (const std::string& path :
       {std::string(".git/objects/ab/cdef0123456789abcdef0123456789abcdef01"),
        ".git/objects/pack/pack-" + kHash + ".pack"}) {
    World world;
    world.before[path] = world.after[path] = "same";
    FileChange change = added(path);
    change.before.kind = FileKind::Regular;  // another mode
    EXPECT_EQ(world.judge(change).trust, GitData) << path;
    world.after[path] = "evil";
    EXPECT_EQ(world.judge(change).trust, GitRuns) << path;
  }
}

TEST(HostTrust, FindsRepositoriesWithoutTheName) {
  World world;
  EXPECT_EQ(world.judge(added("bare/config")).trust, Plain);
  world.existing = {"bare/HEAD", "bare/objects", "bare/refs"};
  EXPECT_EQ(world.judge(added("bare/config")).trust, GitRuns);
  EXPECT_EQ(world.judge(added("bare/hooks/pre-commit")).trust, GitRuns);
  EXPECT_EQ(world.judge(added("bare/README")).trust, Plain);
  world.existing = {"w/HEAD", "w/commondir"};
  EXPECT_EQ(world.judge(added("w/commondir")).trust, GitRuns);
  world.existing = {"HEAD", "objects", "refs"};  // the workspace itself is a git directory
  EXPECT_EQ(world.judge(added("hooks/pre-commit")).trust, GitRuns);
  world.existing = {"w/HEAD", "w/objects"};
  EXPECT_EQ(world.judge(added("w/config")).trust, Plain);
}

TEST(HostTrust, KnowsAWorkspaceInsideAGitDirectory) {
  World world;
  world.prefix = ".git/hooks";
  EXPECT_EQ(world.judge(added("pre-commit")).trust, GitRuns);
  world.prefix = ".git";
  EXPECT_EQ(world.judge(added("packed-refs")).trust, GitData);
  EXPECT_EQ(git_prefix_of("/nowhere/a/.git/hooks"), ".git/hooks");
  EXPECT_EQ(git_prefix_of("/nowhere/a/.GIT"), ".git");
  EXPECT_EQ(git_prefix_of("/nowhere/a"), "");
}

struct Package {
  std::optional<std::string> before;
  std::string after;
  HostTrust trust;
};

TEST(HostTrust, LooksIntoPackageFiles) {
  const std::vector<Package> packages = {
      {{}, R"({"name": "x", "dependencies": {"a": "1"}})", Plain},
      {{}, R"({"name": "x", "scripts": {"postinstall": "evil"}})", Trusted},
      {R"({"scripts": {"test": "t"}})", R"({"scripts": {"test": "t"}, "version": "2"})", Plain},
      {R"({"scripts": {"test": "t"}})", R"({"scripts": {"test": "evil"}})", Trusted},
      {R"({"scripts": {"test": "t"}})", R"({})", Trusted},
      {R"({})", R"({"packageManager": "yarn@https://evil"})", Trusted},
      {R"({})", R"({"husky": {}})", Trusted},
      {R"({})", R"({"dependencies": {}, "scripts)", Trusted},
      {R"(broken)", R"({})", Trusted},
      {R"({})", R"([])", Trusted},
  };
  for (const Package& one : packages) {
    World world;
    if (one.before) world.before["web/package.json"] = *one.before;
    world.after["web/package.json"] = one.after;
    const TrustVerdict verdict = world.judge(added("web/package.json"));
    EXPECT_EQ(verdict.trust, one.trust) << one.after;
    EXPECT_EQ(verdict.digest.empty(), one.trust != Plain) << one.after;
  }
  World installed;
  installed.after["node_modules/a/package.json"] = R"({"scripts": {"test": "t"}})";
  EXPECT_EQ(installed.judge(added("node_modules/a/package.json")).trust, Plain);
  EXPECT_EQ(World().judge(added("package.json", FileKind::Link)).trust, Trusted);
}

TEST(HostTrust, MarksNewExecutables) {
  FileChange change = added("tool", FileKind::Regular, 0755);
  EXPECT_TRUE(is_newly_executable(change));
  change.before.kind = FileKind::Regular;
  change.before.mode = 0644;
  EXPECT_TRUE(is_newly_executable(change));
  change.before.mode = 0744;
  EXPECT_FALSE(is_newly_executable(change));
  EXPECT_FALSE(is_newly_executable(added("d", FileKind::Directory, 0755)));
}

}  // namespace
}  // namespace nutshell
