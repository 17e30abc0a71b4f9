// Copies the files, directories and links of a directory, and leaves out sockets and the like.
#pragma once

#include "base/result.h"

namespace nutshell {

// How to treat files and directories that this process may not read.
enum class Unreadable { LeftOut, Refused };

// Copies from one open directory into another, which is empty. Links are copied as links,
// permissions and times are kept; the copies belong to the process's file system user.
Result<> copy_tree(int from, int to, Unreadable unreadable);

}  // namespace nutshell
