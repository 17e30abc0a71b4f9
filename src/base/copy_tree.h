// Copies what is in a directory: files, directories and links. What is none of these is left out.
#pragma once

#include "base/result.h"

namespace nutshell {

// What to do about files and directories that this process may not read.
enum class Unreadable { LeftOut, Refused };

// From one open directory into another, which is empty. Links are copied as links, permissions and
// times are kept, and everything belongs to the calling process's file system user.
Result<> copy_tree(int from, int to, Unreadable unreadable);

}  // namespace nutshell
