#include "runtime/host_trust.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "base/sha256.h"
#include "runtime/folded_name.h"
#include "runtime/git_index.h"
#include "runtime/package_members.h"
#include "runtime/trusted_paths.h"
#include "runtime/workspace_changes.h"

namespace nutshell {
namespace {

using wire::FileChange;
using wire::FileInfo;
using wire::FileKind;

TrustVerdict git_runs(std::string root, std::string_view why, GitPart part = GitPart::Runs) {
  TrustVerdict verdict;
  verdict.part = part;
  verdict.trust = HostTrust::GitRuns;
  verdict.root = std::move(root);
  verdict.tool = "git";
  verdict.why = why;
  return verdict;
}

bool is_executable(const FileInfo& info) {
  return info.kind == FileKind::Regular && (info.mode & 0111U) != 0;
}

bool is_file_or_nothing(const FileInfo& info) {
  return info.kind == kNoFile || info.kind == FileKind::Regular;
}

bool is_directory_or_nothing(const FileInfo& info) {
  return info.kind == kNoFile || info.kind == FileKind::Directory;
}

// The first `count` components of a path. A backslash separates too, as in fold_path().
std::string first_components(std::string_view path, std::size_t count) {
  std::size_t end = 0;
  for (std::size_t i = 0; i < count && end < path.size(); ++i) {
    end = path.find_first_not_of("/\\", end);
    end = std::min(path.find_first_of("/\\", end), path.size());
  }
  return std::string(path.substr(0, end));
}

bool lies_in_node_modules(const std::vector<std::string>& folded) {
  for (const std::string& name : folded) {
    if (name == "node_modules") return true;
  }
  return false;
}

// Whether the path can be a git object, which is named by the hash of its content.
bool is_immutable(const std::vector<std::string_view>& inner) {
  if (inner.size() < 3 || inner[inner.size() - 3] != "objects") return false;
  return inner[inner.size() - 2].size() == 2 || inner.back().ends_with(".pack");
}

// Whether git sees no repository here any more, because one of these is gone.
bool breaks_repository(const std::vector<std::string_view>& inner, const FileChange& change) {
  if (change.after.kind != kNoFile || inner.size() != 1) return false;
  return inner[0] == "HEAD" || inner[0] == "objects" || inner[0] == "refs";
}

}  // namespace

bool is_newly_executable(const FileChange& change) {
  return is_executable(change.after) && !is_executable(change.before);
}

std::string git_prefix_of(const std::string& host_path) {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::weakly_canonical(host_path, error);
  std::filesystem::path above;
  for (auto part = path.begin(); part != path.end(); ++part) {
    above /= *part;
    const auto has = [&](const char* name) {
      return ::faccessat(AT_FDCWD, (above / name).c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    };
    const bool is_bare = has("HEAD") && has("objects") && has("refs");
    if (!is_bare && !is_git_name(fold_name(part->native()))) continue;
    std::string prefix = ".git";
    for (++part; part != path.end(); ++part)
      prefix += "/" + part->native();
    return prefix;
  }
  return {};
}

// Whether git would take the directory for a repository (is_git_directory in its setup.c).
Result<bool> TrustJudge::is_git_directory(const std::string& directory) {
  const auto known = git_directories_.find(directory);
  if (known != git_directories_.end()) return known->second;
  const std::string& prefix = sources_.prefix;
  if (directory.size() < prefix.size()) return false;  // git_prefix_of() looks there
  std::string_view below = std::string_view(directory).substr(prefix.size());
  if (below.starts_with('/')) below.remove_prefix(1);
  const auto has = [&](const char* name) {
    return sources_.exists(below.empty() ? name : fmt::format("{}/{}", below, name));
  };
  const bool is_one =
      TRY(has("HEAD")) && ((TRY(has("objects")) && TRY(has("refs"))) || TRY(has("commondir")));
  git_directories_.emplace(directory, is_one);
  return is_one;
}

// Finds the outermost git directory on the path.
Result<std::optional<TrustJudge::GitPlace>> TrustJudge::find_git(std::string_view path) {
  const auto parts = split_path(path);
  std::string above;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto begin = parts.begin() + static_cast<std::ptrdiff_t>(i);
    if (is_git_entry_name(fold_name(parts[i])) && TRY(is_git_directory(above)))
      return std::optional(GitPlace{above, {begin, parts.end()}});
    if (!above.empty()) above += '/';
    above += parts[i];
    // Windows splits names at backslashes, so such a name is not plain data of git.
    for (const std::string& name : fold_path(parts[i])) {
      if (!is_git_name(name)) continue;
      const bool is_whole = parts[i].find('\\') == std::string_view::npos;
      return std::optional(GitPlace{above, {is_whole ? begin + 1 : begin, parts.end()}});
    }
  }
  return std::optional<GitPlace>();
}

Result<std::string> TrustJudge::trouble_with(const FileChange& change, GitPart part,
                                             std::string& digest) {
  if (change.after.size > kMostJudgedBytes) return std::string("is too large to be checked");
  const auto content = TRY(sources_.after(change));
  if (!content) return std::string("could not be read");
  digest = sha256_hex(*content);
  if (part == GitPart::Object) {
    const bool is_same = TRY(sources_.before(change)) == content;
    return std::string(is_same ? "" : "is an object that changed, which git never does");
  }
  if (part == GitPart::Reference)
    return std::string(is_reference_text(*content) ? "" : "is no reference");
  std::string trouble = trouble_with_index(*content);
  if (trouble.empty() && !TRY(sources_.has_sha1_index(change.path)))
    trouble = "is the index of a SHA-256 repository, which cannot be checked";
  return trouble;
}

Result<TrustVerdict> TrustJudge::judge_git(const FileChange& change, const GitPlace& place) {
  if (place.inner.empty()) {
    const bool is_directory =
        is_directory_or_nothing(change.before) && change.after.kind == FileKind::Directory;
    if (!is_directory) return git_runs(place.root, "decides where git finds its commands");
    return TrustVerdict{HostTrust::GitData, GitPart::Directory, place.root, "git", "", ""};
  }
  const bool is_directory =
      is_directory_or_nothing(change.before) && is_directory_or_nothing(change.after);
  const bool is_file = is_file_or_nothing(change.before) && is_file_or_nothing(change.after);
  const bool takes_place =
      change.before.kind != FileKind::Link && change.after.kind != FileKind::Link &&
      change.before.kind != FileKind::Other && change.after.kind != FileKind::Other;
  const bool ends_as_directory =
      is_directory || (!is_file && change.after.kind == FileKind::Directory);
  const GitEntry entry =
      judge_git_entry(place.inner, ends_as_directory ? EntryKind::Directory : EntryKind::File);
  if (entry.part == GitPart::Runs) return git_runs(place.root, entry.why);
  if (!takes_place) return git_runs(place.root, "is a link in a git directory", entry.part);
  if (is_executable(change.after)) return git_runs(place.root, "is executable", entry.part);
  if (breaks_repository(place.inner, change))
    return git_runs(place.root, "makes the directory a repository", entry.part);
  TrustVerdict verdict{HostTrust::GitData, entry.part, place.root, "git", "", ""};
  const bool is_rewritten = is_immutable(place.inner) && change.before.kind == FileKind::Regular;
  const bool has_content =
      entry.part == GitPart::Reference || entry.part == GitPart::Index || is_rewritten;
  if (!has_content || change.after.kind != FileKind::Regular) return verdict;
  const std::string trouble = TRY(trouble_with(change, entry.part, verdict.digest));
  return trouble.empty() ? verdict : git_runs(place.root, trouble, entry.part);
}

Result<TrustVerdict> TrustJudge::judge_package(const FileChange& change) {
  TrustVerdict verdict;
  verdict.trust = HostTrust::Trusted;
  verdict.root = change.path;
  verdict.tool = "the package manager";
  verdict.why = "runs what it names";
  if (change.after.kind == kNoFile) return TrustVerdict();
  if (change.after.kind != FileKind::Regular || change.after.size > kMostJudgedBytes ||
      change.before.size > kMostJudgedBytes) {
    return verdict;
  }
  const auto after = TRY(sources_.after(change));
  if (!after) return verdict;
  const std::string member = changed_member(TRY(sources_.before(change)), *after);
  verdict.why = fmt::format("runs what it names: \"{}\" is different", member);
  if (!member.empty()) return verdict;
  TrustVerdict plain;
  plain.digest = sha256_hex(*after);
  return plain;
}

Result<TrustVerdict> TrustJudge::judge(const FileChange& change) {
  const std::string path =
      sources_.prefix.empty() ? change.path : sources_.prefix + "/" + change.path;
  if (const auto place = TRY(find_git(path))) return judge_git(change, *place);
  for (const std::string& run : sources_.run_by_git) {
    // A link or a file in place of a parent directory could lead there too.
    const bool is_on_the_way =
        is_at_or_below(run, change.path) && change.after.kind != FileKind::Directory;
    if (!is_at_or_below(change.path, run) && !is_on_the_way) continue;
    return TrustVerdict{HostTrust::Trusted,
                        GitPart::Runs,
                        is_on_the_way ? change.path : run,
                        "git",
                        "runs it: the configuration here names it",
                        ""};
  }
  const std::vector<std::string> folded = fold_path(path);
  auto match = match_trusted_path(folded);
  if (!match && change.after.kind == FileKind::Link) match = match_way_to_trusted_path(folded);
  if (match) {
    TrustVerdict verdict;
    verdict.trust = HostTrust::Trusted;
    verdict.root = first_components(path, match->depth);
    verdict.tool = match->row->tool;
    verdict.why = match->row->why;
    return verdict;
  }
  if (!folded.empty() && is_package_file(folded.back()) && !lies_in_node_modules(folded))
    return judge_package(change);
  return TrustVerdict();
}

}  // namespace nutshell
