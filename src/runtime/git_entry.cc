#include "runtime/git_entry.h"

#include <algorithm>
#include <initializer_list>

#include "runtime/folded_name.h"

namespace nutshell {
namespace {

using Names = std::vector<std::string_view>;

constexpr std::string_view kUnknown = "is not known to be harmless";

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool is_hexadecimal(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
  });
}

// Whether the text is a SHA-1 or SHA-256 in hexadecimal.
bool is_object_name(std::string_view text) {
  return (text.size() == 40 || text.size() == 64) && is_hexadecimal(text);
}

bool is_pack_file(std::string_view name) {
  if (name.starts_with("multi-pack-index")) return true;
  if (!name.starts_with("pack-")) return false;
  const std::size_t dot = std::min(name.find('.'), name.size());
  return is_object_name(name.substr(5, dot - 5)) &&
         is_one_of(name.substr(dot), {".pack", ".idx", ".rev", ".bitmap", ".mtimes", ".keep"});
}

// Shell prompts may evaluate the branch name, and git allows "$(…)" in it.
bool is_free_of_shell(std::string_view text) {
  return text.find_first_of("$`();|&<>'\"!{}\\") == std::string_view::npos;
}

GitEntry runs(std::string_view why) {
  return {GitPart::Runs, why};
}

GitEntry judge_object(const Names& inner, EntryKind kind) {
  if (inner.size() == 1)
    return {kind == EntryKind::Directory ? GitPart::Directory : GitPart::Runs, kUnknown};
  const std::string_view place = inner[1];
  const bool is_fan_out = place.size() == 2 && is_hexadecimal(place);
  if (kind == EntryKind::Directory) {
    const bool is_known = inner.size() == 2
                              ? is_fan_out || is_one_of(place, {"pack", "info"})
                              : inner.size() == 3 && place == "info" && inner[2] == "commit-graphs";
    return is_known ? GitEntry{GitPart::Directory, ""} : runs(kUnknown);
  }
  if (place == "info" && inner.size() == 3 &&
      is_one_of(inner[2], {"alternates", "http-alternates"}))
    return runs("makes git read objects from elsewhere");
  if (is_fan_out && inner.size() == 3 && is_object_name(std::string(place) + std::string(inner[2])))
    return {GitPart::Object, ""};
  if (place == "pack" && inner.size() == 3 && is_pack_file(inner[2])) return {GitPart::Object, ""};
  const bool is_cache =
      place == "info" && ((inner.size() == 3 && is_one_of(inner[2], {"packs", "commit-graph"})) ||
                          (inner.size() == 4 && inner[2] == "commit-graphs"));
  return is_cache ? GitEntry{GitPart::Object, ""} : runs(kUnknown);
}

// The sandbox chooses the names of references. Refuses names that would turn a directory of
// references into a git directory with hooks and configuration of its own.
GitEntry judge_named(const Names& inner, EntryKind kind, GitPart part) {
  for (std::size_t i = 1; i < inner.size(); ++i) {
    if (is_one_of(fold_name(inner[i]), {"objects", "commondir"})) return runs(kUnknown);
    if (!is_free_of_shell(inner[i])) return runs("has a name that a shell could run");
  }
  if (kind == EntryKind::Directory) return {GitPart::Directory, ""};
  if (inner.size() == 1 || inner.back().ends_with(".lock")) return runs("keeps git from working");
  return {part, ""};
}

// Judges an entry of a submodule's git directory, whose name may have several components.
GitEntry judge_module(const Names& inner, EntryKind kind) {
  for (std::size_t i = 2; i < inner.size(); ++i) {
    if (!is_git_entry_name(fold_name(inner[i]))) continue;
    return judge_git_entry({inner.begin() + static_cast<std::ptrdiff_t>(i), inner.end()}, kind);
  }
  return kind == EntryKind::Directory ? GitEntry{GitPart::Directory, ""} : runs(kUnknown);
}

std::string_view why_of(std::string_view name) {
  if (name == "config" || name == "config.worktree") return "names commands that git runs";
  if (name == "hooks") return "is run by git";
  if (name == "info") return "decides which commands git runs on files";
  if (name == "commondir" || name == "gitdir" || name == "worktrees")
    return "leads git to another directory, with commands of its own";
  if (is_one_of(name, {"rebase-merge", "rebase-apply", "sequencer"}))
    return "lists commands that git runs when it goes on";
  return kUnknown;
}

}  // namespace

bool is_git_entry_name(std::string_view folded) {
  return is_one_of(folded, {"head",           "objects",     "refs",         "logs",
                            "index",          "packed-refs", "config",       "config.worktree",
                            "hooks",          "info",        "commondir",    "gitdir",
                            "modules",        "worktrees",   "rebase-merge", "rebase-apply",
                            "sequencer",      "branches",    "remotes",      "reftable",
                            "shallow",        "description", "orig_head",    "fetch_head",
                            "commit_editmsg", "rr-cache",    "lfs",          "common"});
}

bool is_reference_text(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' '))
    text.remove_suffix(1);
  if (is_object_name(text)) return true;
  constexpr std::string_view kSymbolic = "ref: refs/";
  return text.starts_with(kSymbolic) && text.find("..") == std::string_view::npos &&
         is_free_of_shell(text) && std::none_of(text.begin(), text.end(), [](char c) {
           return static_cast<unsigned char>(c) < 0x20;
         });
}

GitEntry judge_git_entry(const Names& inner, EntryKind kind) {
  if (inner.empty()) return runs(kUnknown);
  for (const std::string_view name : inner) {
    if (name.find('\\') != std::string_view::npos || is_git_name(fold_name(name)))
      return runs(kUnknown);
  }
  const std::string_view first = inner[0];
  if (first == "objects") return judge_object(inner, kind);
  if (first == "refs") return judge_named(inner, kind, GitPart::Reference);
  if (first == "logs") return judge_named(inner, kind, GitPart::Record);
  if (first == "modules") return judge_module(inner, kind);
  if (first == "reftable" && inner.size() <= 2) {
    if (kind == EntryKind::Directory)
      return inner.size() == 1 ? GitEntry{GitPart::Directory, ""} : runs(kUnknown);
    const bool is_table =
        inner.size() == 2 && (inner[1] == "tables.list" || inner[1].ends_with(".ref"));
    return is_table ? GitEntry{GitPart::Record, ""} : runs(kUnknown);
  }
  if (inner.size() == 1 && kind == EntryKind::File) {
    if (first == "HEAD") return {GitPart::Reference, ""};
    if (first == "index") return {GitPart::Index, ""};
    if (is_one_of(first,
                  {"packed-refs", "ORIG_HEAD", "FETCH_HEAD", "MERGE_HEAD", "MERGE_MSG",
                   "MERGE_MODE", "AUTO_MERGE", "CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD",
                   "SQUASH_MSG", "COMMIT_EDITMSG", "TAG_EDITMSG", "shallow", "description"}))
      return {GitPart::Record, ""};
  }
  return runs(why_of(fold_name(first)));
}

}  // namespace nutshell
