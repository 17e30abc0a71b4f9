#include "service/sandboxes/kept_workspaces.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cstdlib>

#include "base/byte_size.h"
#include "base/directory.h"
#include "base/file.h"
#include "base/sha256.h"
#include "runtime/copy.h"

namespace nutshell::service {
namespace {

namespace fs = std::filesystem;

// Makes directories writable first, because a sandbox may have made them unreadable.
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

// Counts the bytes of names, too.
constexpr std::uint64_t kBytesOfAName = 1U << 20U;
constexpr std::uint64_t kBytesOfAnInode = 8192;
constexpr const char* kSizeSuffix = ".bytes";

std::string prefix_of(const std::string& tenant) {
  return sha256_hex(tenant).substr(0, 32) + "-";
}

std::uint64_t size_in(const fs::path& file) {
  const auto text = read_file(file, 64);
  return text ? std::strtoull(text->c_str(), nullptr, 10) : 0;
}

}  // namespace

// Hashes the names, because they may not be valid as file names.
fs::path KeptWorkspaces::place_of(const std::string& tenant, const std::string& name) const {
  return directory_ / (prefix_of(tenant) + sha256_hex(name).substr(0, 32));
}

std::uint64_t KeptWorkspaces::kept_besides(const std::string& tenant, const fs::path& place) const {
  const std::string prefix = prefix_of(tenant);
  std::uint64_t sum = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory_, error)) {
    const std::string name = entry.path().filename().native();
    const bool is_own = name == place.filename().native() + kSizeSuffix;
    if (name.starts_with(prefix) && name.ends_with(kSizeSuffix) && !is_own)
      sum += size_in(entry.path());
  }
  return sum;
}

Result<> KeptWorkspaces::fill(const fs::path& place, wire::InitClient& client,
                              std::uint64_t most_bytes) const {
  const fs::path fresh = place.native() + ".new";
  TRY(make_directory(fresh));
  auto copied = copy_out(client, "/workspace/.", fresh, {Taking::All, most_bytes});
  std::uint64_t size = 0;
  // Each entry has an inode, and on average half a block that its content does not fill.
  if (copied) {
    size = copied->bytes + (copied->files + copied->directories) * kBytesOfAnInode + kBytesOfAName;
  }
  if (copied && size <= most_bytes)
    return write_file(place.native() + kSizeSuffix, std::to_string(size));
  TRY(remove_tree(fresh));
  if (copied || copied.error().code == ErrorCode::ResourceExhausted) {
    return failure(ErrorCode::ResourceExhausted,
                   fmt::format("of the files that this tenant may keep, {} are left: forget the "
                               "workspace of a session, or remove files here",
                               format_byte_size(most_bytes)));
  }
  return Failure(std::move(copied).error());
}

Result<> KeptWorkspaces::save(const std::string& tenant, const std::string& name,
                              wire::InitClient& client) {
  TRY(make_directory(directory_));
  const fs::path place = place_of(tenant, name);
  const fs::path fresh = place.native() + ".new";
  const fs::path old = place.native() + ".old";
  const auto alone = tenants_.take(tenant);
  TRY(remove_tree(fresh));
  TRY(remove_tree(old));
  const std::uint64_t most = most_bytes_(tenant);
  TRY(fill(place, client, most - std::min(most, kept_besides(tenant, place))));
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
  // Finishes a save that was interrupted between its two steps.
  if (!fs::exists(place, error) && fs::exists(old, error)) fs::rename(old, place, error);
  if (!fs::exists(place, error)) return {};
  auto copied = copy_in(client, place / ".", "/workspace");
  if (!copied) return while_doing("bring the files that were kept", std::move(copied).error());
  return {};
}

Result<> KeptWorkspaces::forget(const std::string& tenant, const std::string& name) {
  const fs::path place = place_of(tenant, name);
  const auto alone = tenants_.take(tenant);
  for (const char* suffix : {"", ".new", ".old", kSizeSuffix})
    TRY(remove_tree(place.native() + suffix));
  return {};
}

}  // namespace nutshell::service
