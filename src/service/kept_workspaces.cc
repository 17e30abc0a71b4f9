#include "service/kept_workspaces.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include "base/sha256.h"
#include "runtime/copy.h"

namespace nutshell::service {
namespace {

namespace fs = std::filesystem;

Result<> make_directory(const fs::path& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return syscall_failure("mkdir", path.native());
  return {};
}

// Directories that a sandbox made unreadable are ours all the same.
Result<> remove_tree(const fs::path& path) {
  std::error_code error;
  for (fs::recursive_directory_iterator item(path, error), end; !error && item != end;
       item.increment(error)) {
    if (item->is_directory(error) && !item->is_symlink(error))
      fs::permissions(item->path(), fs::perms::owner_all, fs::perm_options::add, error);
  }
  fs::remove_all(path, error);
  if (error) return syscall_failure(error.value(), "remove", path.native());
  return {};
}

}  // namespace

// By hash: a tenant's name is no name of a file.
fs::path KeptWorkspaces::place_of(const std::string& tenant, const std::string& name) const {
  return directory_ /
         sha256_hex(fmt::format("{}:{}:{}", tenant.size(), tenant, name)).substr(0, 32);
}

Result<> KeptWorkspaces::save(const std::string& tenant, const std::string& name,
                              wire::InitClient& client) {
  TRY(make_directory(directory_));
  const fs::path place = place_of(tenant, name);
  const fs::path fresh = place.native() + ".new";
  const fs::path old = place.native() + ".old";
  TRY(remove_tree(fresh));
  TRY(remove_tree(old));
  TRY(make_directory(fresh));
  TRY(copy_out(client, "/workspace/.", fresh));
  if (::rename(place.c_str(), old.c_str()) != 0 && errno != ENOENT)
    return syscall_failure("rename", place.native());
  if (::rename(fresh.c_str(), place.c_str()) != 0) return syscall_failure("rename", place.native());
  return remove_tree(old);
}

Result<> KeptWorkspaces::restore(const std::string& tenant, const std::string& name,
                                 wire::InitClient& client) {
  const fs::path place = place_of(tenant, name);
  const fs::path old = place.native() + ".old";
  std::error_code error;
  // A save that was cut short between its two steps.
  if (!fs::exists(place, error) && fs::exists(old, error)) fs::rename(old, place, error);
  if (!fs::exists(place, error)) return {};
  auto copied = copy_in(client, place / ".", "/workspace");
  if (!copied) return while_doing("bring the files that were kept", std::move(copied).error());
  return {};
}

Result<> KeptWorkspaces::forget(const std::string& tenant, const std::string& name) {
  const fs::path place = place_of(tenant, name);
  for (const char* suffix : {"", ".new", ".old"})
    TRY(remove_tree(place.native() + suffix));
  return {};
}

}  // namespace nutshell::service
