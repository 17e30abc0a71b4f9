// Writes a changed file in the format of `git apply`.
#pragma once

#include <string>
#include <string_view>

namespace nutshell {

// The file before or after a change.
struct PatchSide {
  enum class Kind { Nothing, File, Executable, Link };
  Kind kind = Kind::Nothing;
  std::string content;  // the target, if it is a link
};

enum class BinaryForm {
  Named,    // only a note that the file differs, for people
  Literal,  // all bytes, for git
};

bool is_binary(std::string_view content);

// The patch of one file; empty if git sees no difference.
std::string git_patch(const std::string& path, const PatchSide& before, const PatchSide& after,
                      BinaryForm form);

// Git's name of a file with this content (SHA-1, in hexadecimal).
std::string git_blob_name(std::string_view content);

}  // namespace nutshell
