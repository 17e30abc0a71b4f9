// Decides whether a file from a sandbox could run something on the host by itself: through git, or
// through a tool that runs or trusts it without asking. Used by `apply`, `cp`, `diff`, the daemon's
// listings and the review of MCP.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/git_entry.h"
#include "wire/init_client.h"
#include "wire/tool_schema.h"

namespace nutshell {

enum class HostTrust {
  Plain,
  GitData,  // objects, references and the like: git runs nothing because of them
  GitRuns,  // could make git run something
  Trusted,  // a tool on the host runs or trusts it
};

struct TrustVerdict {
  HostTrust trust = HostTrust::Plain;
  GitPart part = GitPart::Runs;  // only with GitData
  std::string root;    // the git directory, or the path that the table names: "web/.vscode"
  std::string tool;    // "git", "direnv"
  std::string why;     // a sentence without subject: "runs it when a shell enters the directory"
  std::string digest;  // SHA-256 of the content that was judged; empty if none was
};

// Tells a judge about the surroundings of a path. Paths are relative to the directory of the judged
// paths.
struct TrustSources {
  // Whether the path exists, or will exist, on the host or in the sandbox.
  std::function<Result<bool>(const std::string& path)> exists;
  // The content before and after; nullopt if the file does not exist.
  using Reader = std::function<Result<std::optional<std::string>>(const wire::FileChange& change)>;
  Reader before;
  Reader after;
  // Whether the repository of an index uses SHA-1 names, so that the index can be checked.
  std::function<Result<bool>(const std::string& index_path)> has_sha1_index;
  // Components in front of every path, such as ".git/hooks" if that is the directory. `exists` and
  // the readers get paths without them.
  std::string prefix = {};
  // Files and directories that the host's own git configuration makes git run.
  std::vector<std::string> run_by_git = {};
};

class TrustJudge {
 public:
  explicit TrustJudge(TrustSources sources) : sources_(std::move(sources)) {}

  Result<TrustVerdict> judge(const wire::FileChange& change);

 private:
  struct GitPlace {
    std::string root;
    std::vector<std::string_view> inner;
  };
  Result<std::optional<GitPlace>> find_git(std::string_view path);
  Result<bool> is_git_directory(const std::string& directory);
  Result<TrustVerdict> judge_git(const wire::FileChange& change, const GitPlace& place);
  // Returns why the content is refused; empty if it is not. Sets the digest of the content it read.
  Result<std::string> trouble_with(const wire::FileChange& change, GitPart part,
                                   std::string& digest);
  Result<TrustVerdict> judge_package(const wire::FileChange& change);

  TrustSources sources_;
  std::map<std::string, bool> git_directories_;  // cache of is_git_directory()
};

// Reads files of a sandbox's workspace for a judge.
TrustSources::Reader sandbox_reader(wire::InitClient& client, wire::FileState state);
// Sources for callers that see only the sandbox.
TrustSources sandbox_sources(wire::InitClient& client);

// Judges the entries of a directory in the sandbox, for callers that copy them out in another way.
// Entries are relative to the directory.
Result<std::vector<TrustVerdict>> judge_listing(wire::InitClient& client,
                                                const std::string& directory,
                                                const std::vector<wire::FileInfo>& entries);

// The configuration file of the repository that an index belongs to.
std::string configuration_beside(const std::string& index_path);
bool names_sha256(std::string_view configuration);

// Whether the change makes a file executable that was not.
bool is_newly_executable(const wire::FileChange& change);

// The value of TrustSources::prefix for a host path: its part from a git directory on, as ".git/…";
// empty if the path lies in none.
std::string git_prefix_of(const std::string& host_path);

// Larger files are held back unread.
inline constexpr std::uint64_t kMostJudgedBytes = 64ULL << 20U;

}  // namespace nutshell
