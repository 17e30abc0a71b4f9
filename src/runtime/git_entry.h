// Entries of a git directory: the few that are data, and everything else, which can make git run
// something. Git reads commands from many files (config, hooks, attributes, rebase lists, the files
// that name another git directory), and new versions add more: hence a list of what is harmless.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nutshell {

enum class GitPart {
  Directory,  // holds data
  Object,     // objects, and caches made of them
  Reference,  // a file of one reference, with HEAD; its content has to be looked at
  Index,      // its content has to be looked at
  Record,     // packed references, logs, messages: text that git only reads
  Runs,       // can make git run something, or was not recognised
};

struct GitEntry {
  GitPart part = GitPart::Runs;
  std::string_view why;  // of Runs
};

// Of a path below a git directory, for a directory or for a file.
enum class EntryKind { Directory, File };
GitEntry judge_git_entry(const std::vector<std::string_view>& inner, EntryKind kind);

// Whether git would look for this name in its directory. Lower case.
bool is_git_entry_name(std::string_view folded);

// "ref: refs/…" or the name of an object.
bool is_reference_text(std::string_view text);

}  // namespace nutshell
