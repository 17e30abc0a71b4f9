// Changes of files in the form that `git apply` takes.
#pragma once

#include <string>
#include <string_view>

namespace nutshell {

// What the file is on one side of a change.
struct PatchSide {
  enum class Kind { Nothing, File, Executable, Link };
  Kind kind = Kind::Nothing;
  std::string content;  // of a link: where it leads
};

enum class BinaryForm {
  Named,    // said to be different, for people
  Literal,  // with all bytes, for git
};

bool is_binary(std::string_view content);

// One file's part of a patch; empty where git sees no difference.
std::string git_patch(const std::string& path, const PatchSide& before, const PatchSide& after,
                      BinaryForm form);

// The name git has for a file with this content (SHA-1, in hexadecimal).
std::string git_blob_name(std::string_view content);

}  // namespace nutshell
