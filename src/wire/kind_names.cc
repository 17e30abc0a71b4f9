#include "wire/kind_names.h"

namespace nutshell::wire {

std::string_view to_string(FileKind kind) {
  switch (kind) {
    case FileKind::Regular:
      return "file";
    case FileKind::Directory:
      return "directory";
    case FileKind::Link:
      return "link";
    case FileKind::Other:
      return "other";
  }
  return "other";
}

std::string_view to_string(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::Added:
      return "added";
    case ChangeKind::Modified:
      return "modified";
    case ChangeKind::Removed:
      return "removed";
  }
  return "modified";
}

}  // namespace nutshell::wire
