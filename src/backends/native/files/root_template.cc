#include "backends/native/files/root_template.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/native/files/device_directory.h"
#include "base/defer.h"
#include "base/file.h"
#include "base/random_id.h"
#include "base/sha256.h"
#include "base/user_directory.h"
#include "images/host_root.h"

namespace nutshell::native {
namespace {

constexpr std::string_view kPrefix = "root-";
constexpr std::string_view kPartialPrefix = ".root-";
constexpr std::size_t kKeyLength = 16;
constexpr const char* kLayout = "4";  // to be changed when write_template() changes

Result<UniqueFd> lock_template(const std::filesystem::path& path, int operation) {
  UniqueFd directory = TRY(open_file(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  if (::flock(directory.get(), operation | LOCK_NB) != 0) {
    return syscall_failure("lock", path.native());
  }
  return directory;
}

std::string key_of_host(Privilege privilege) {
  std::string facts = fmt::format("{} {} ", kLayout, privilege == Privilege::Root);
  facts += images::host_root_state();
  return sha256_hex(facts).substr(0, kKeyLength);
}

Result<> make_directory(int root, const char* name) {
  if (::mkdirat(root, name, 0755) != 0) return syscall_failure("mkdir", name);
  return {};
}

Result<> write_template(const std::filesystem::path& path, Privilege privilege) {
  const mode_t mask = ::umask(022);
  const Defer restored([mask] { ::umask(mask); });
  const UniqueFd directory = TRY(open_file(path, O_PATH | O_DIRECTORY));
  TRY(make_directory(directory.get(), "empty"));
  TRY(make_directory(directory.get(), "tree"));
  const UniqueFd tree = TRY(open_at(directory.get(), "tree", O_PATH | O_DIRECTORY));
  std::string mounts;
  for (const std::string& name :
       TRY(images::write_host_root(tree.get(), images::SharedBy::ManySandboxes)))
    mounts += name + '\n';
  bool has_devices = false;
  if (privilege == Privilege::Root) {
    const UniqueFd devices = TRY(open_at(tree.get(), "dev", O_PATH | O_DIRECTORY));
    TRY(fill_device_directory(devices.get()));
    has_devices = true;
  }
  return write_file(path / "mounts", (has_devices ? "+\n" : "-\n") + mounts, 0600);
}

void remove_template(const std::filesystem::path& path) {
  std::error_code ignored;  // the next sweep removes what is left
  std::filesystem::remove_all(path, ignored);
}

// Writes it under another name first, so that a template with its final name is complete.
Result<> make_template(const std::filesystem::path& place, Privilege privilege) {
  const std::filesystem::path partial =
      place.parent_path() / fmt::format("{}{}", kPartialPrefix, random_id(kKeyLength));
  if (::mkdir(partial.c_str(), 0700) != 0) return syscall_failure("mkdir", partial.native());
  const UniqueFd lock = TRY(lock_template(partial, LOCK_EX));
  auto written = write_template(partial, privilege);
  const bool is_there = written && ::rename(partial.c_str(), place.c_str()) == 0;
  if (!is_there) remove_template(partial);  // another process may have made the same one
  return written;
}

}  // namespace

Result<RootTemplate> RootTemplate::open(Privilege privilege) {
  const std::filesystem::path runtime = TRY(open_user_directory());
  std::filesystem::path place = runtime / fmt::format("{}{}", kPrefix, key_of_host(privilege));
  auto lock = lock_template(place, LOCK_SH);
  if (!lock) {
    TRY(make_template(place, privilege));
    lock = TRY(lock_template(place, LOCK_SH));
  }
  RootTemplate made(std::move(place), std::move(*lock), privilege);
  const std::string mounts = TRY(read_file_at(made.lock_.get(), "mounts"));
  made.has_devices_ = mounts.starts_with('+');
  for (std::size_t begin = 2; begin < mounts.size();) {
    const std::size_t end = mounts.find('\n', begin);
    made.mounts_.push_back(mounts.substr(begin, end - begin));
    begin = end == std::string::npos ? mounts.size() : end + 1;
  }
  return made;
}

Result<> RootTemplate::mount_on(const char* place) const {
  const std::filesystem::path tree = path_ / "tree";
  if (::chdir(tree.c_str()) != 0) return syscall_failure("enter", tree.native());
  const bool is_rootless = privilege_ == Privilege::Rootless;
  const std::string options = fmt::format("lowerdir=.:../empty{}", is_rootless ? ",userxattr" : "");
  if (::mount("root", place, "overlay", MS_RDONLY | MS_NOSUID, options.c_str()) != 0) {
    return syscall_failure("mount", place);
  }
  return {};
}

Result<UniqueFd> RootTemplate::open_tree() const {
  return open_file(path_ / "tree", O_PATH | O_DIRECTORY);
}

Result<UniqueFd> RootTemplate::open_empty_directory() const {
  return open_file(path_ / "empty", O_PATH | O_DIRECTORY);
}

void sweep_root_templates(SweepMode mode, SweepReport& report) {
  const auto runtime = open_user_directory();
  if (!runtime) return;
  const std::string current = fmt::format("{}{}", kPrefix, key_of_host(find_privilege()));
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(*runtime, error)) {
    const std::string name = entry.path().filename();
    const bool is_old = name.starts_with(kPrefix) && name != current;
    if (!is_old && !name.starts_with(kPartialPrefix)) continue;
    const auto lock = lock_template(entry.path(), LOCK_EX);
    if (!lock) continue;  // in use
    if (mode == SweepMode::Remove) remove_template(entry.path());
    report.removed.push_back(fmt::format("root template {}", name));
  }
}

}  // namespace nutshell::native
