// Decides which changes of a sandbox are applied, and which are held back because a program on the
// host would run or trust them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/host_trust.h"

namespace nutshell {

enum class UnsafeGit { HeldBack, Taken };

struct JudgedChange {
  wire::FileChange change;
  TrustVerdict verdict;
};

struct SortedChanges {
  std::vector<JudgedChange> wanted;  // parents before children
  std::vector<JudgedChange> held;
};

// The user's choice. `named` are paths relative to the workspace; empty means all changes, none of
// them named. A named path at or below an entry of the trust table takes held files; a path above
// such an entry does not.
struct HoldOptions {
  UnsafeGit git = UnsafeGit::HeldBack;
  std::vector<std::string> named;
  std::string named_root = {};  // a path of the trust table that was named by itself
};

// Sorts all changes of a workspace. Git's data stays consistent: a reference is held back if an
// object that it may need is; objects are not removed before the references to them; of a
// repository that cannot be read without its configuration, nothing is taken.
Result<SortedChanges> sort_out_changes(const std::vector<wire::FileChange>& changes,
                                       TrustJudge& judge, const HoldOptions& options);

// Judges all changes that the sandbox reports. `held` are those that `apply` without options would
// not write.
Result<SortedChanges> judge_workspace(wire::InitClient& client,
                                      const std::vector<wire::FileChange>& changes);

// "git", "trusted", or empty for a change that is applied.
std::string_view held_by(const TrustVerdict& verdict);
// One line for people: "direnv runs it when a shell enters the directory".
std::string sentence_of(const TrustVerdict& verdict);

// Groups held changes for people: a directory stands for everything held below it.
struct HeldSummary {
  std::string path;       // ends with a slash if it is a directory
  std::size_t below = 0;  // other entries that this line stands for
  const TrustVerdict* verdict = nullptr;
};
std::vector<HeldSummary> summarise(const std::vector<JudgedChange>& held);

}  // namespace nutshell
