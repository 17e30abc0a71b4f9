#include "init/search/budget.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "init/files/paths.h"

namespace nutshell::init::search {

wire::FileInfo describe_status(int directory, const char* path) {
  struct stat status {};
  if (::fstatat(directory, path, &status, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) != 0) {
    status = {};
  }
  return describe(status, {});
}

wire::FileInfo describe_entry(int directory, const char* path) {
  wire::FileInfo info = describe_status(directory, path);
  if (info.kind == wire::FileKind::Link) info.target = read_link(directory, path);
  return info;
}

}  // namespace nutshell::init::search
