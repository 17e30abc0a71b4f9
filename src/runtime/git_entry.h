// Recognises the entries of a git directory that are only data. Everything else can make git run
// something: git reads commands from many files (config, hooks, attributes, rebase lists, files
// that name another git directory), and new versions add more. Hence this is a list of harmless
// entries.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nutshell {

enum class GitPart {
  Directory,  // holds data
  Object,     // objects and caches of them
  Reference,  // a file of one reference, or HEAD; its content must be checked
  Index,      // its content must be checked
  Record,     // packed references, logs, messages: text that git only reads
  Runs,       // can make git run something, or was not recognised
};

struct GitEntry {
  GitPart part = GitPart::Runs;
  std::string_view why;  // only with Runs
};

// Judges a path below a git directory.
enum class EntryKind { Directory, File };
GitEntry judge_git_entry(const std::vector<std::string_view>& inner, EntryKind kind);

// Whether git looks for this name in its directory. The name must be folded.
bool is_git_entry_name(std::string_view folded);

// Whether the text is "ref: refs/…" or the name of an object.
bool is_reference_text(std::string_view text);

}  // namespace nutshell
