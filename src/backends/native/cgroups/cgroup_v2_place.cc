#include "backends/native/cgroups/cgroup_v2_place.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <sstream>

#include "backends/native/cgroups/systemd_scope.h"
#include "base/file.h"

namespace nutshell::native {
namespace {

const std::array<const char*, 3> kWanted = {"memory", "pids", "cpu"};

std::string parent_of(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

std::vector<std::string> words_of(const Result<std::string>& text) {
  std::vector<std::string> words;
  std::istringstream stream(text ? *text : std::string());
  for (std::string word; stream >> word;)
    words.push_back(word);
  return words;
}

// Whether this is the root of the hierarchy, and not only the root of a cgroup namespace.
bool is_true_root(const std::string& path) {
  return ::access((path + "/cgroup.controllers").c_str(), F_OK) == 0 &&
         ::access((path + "/cgroup.events").c_str(), F_OK) != 0;
}

bool has_mark(const std::string& path, const char* attribute) {
  std::array<char, 4> value{};
  const ssize_t size = ::getxattr(path.c_str(), attribute, value.data(), value.size());
  return size == 1 && value[0] == '1';
}

// systemd marks the cgroups that it delegates; a user's systemd did not before version 251. The
// root of a cgroup namespace is delegated to the processes in the namespace.
bool is_delegated(const CgroupLocation& own) {
  return own.directory == own.mount.mount_point || is_own_scope(own.directory) ||
         has_mark(own.directory, "user.delegate") || has_mark(own.directory, "trusted.delegate");
}

bool is_alone_in(const std::string& path) {
  const auto processes = words_of(read_file(path + "/cgroup.procs"));
  return processes.size() == 1 && processes[0] == std::to_string(::getpid());
}

bool has_anything_wanted(const std::string& path) {
  for (const auto& word : words_of(read_file(path + "/cgroup.controllers"))) {
    if (std::find(kWanted.begin(), kWanted.end(), word) != kWanted.end()) return true;
  }
  return false;
}

Result<> move_into_leaf(const std::string& own) {
  const std::string leaf = fmt::format("{}/{}", own, kSelfLeaf);
  if (::mkdir(leaf.c_str(), 0755) != 0 && errno != EEXIST) return syscall_failure("mkdir", leaf);
  return write_value(leaf + "/cgroup.procs", "0");
}

// Fills in `place` if children of `path` can have controllers.
bool try_place(const std::string& path, V2Place& place) {
  auto directory = open_writable_directory(path);
  if (!directory) {
    place.why_not = directory.error().message;
    return false;
  }
  auto controllers = enable_controllers(directory->get(), {kWanted.begin(), kWanted.end()});
  if (controllers.empty()) {
    place.why_not = fmt::format("{} cannot enable controllers for child cgroups", path);
    return false;
  }
  place = {std::move(*directory), path, std::move(controllers), {}};
  return true;
}

bool try_delegated(const CgroupLocation& own, V2Place& place) {
  if (own.directory.ends_with(fmt::format("/{}", kSelfLeaf))) {
    return try_place(parent_of(own.directory), place);
  }
  if (!is_delegated(own)) return false;
  if (!is_alone_in(own.directory)) {
    place.why_not = fmt::format("{} is delegated but has other processes in it", own.directory);
    return false;
  }
  if (!has_anything_wanted(own.directory)) {
    place.why_not = fmt::format("{} has no controllers", own.directory);
    return false;
  }
  const auto moved = move_into_leaf(own.directory);
  if (!moved) {
    place.why_not = moved.error().message;
    return false;
  }
  return try_place(own.directory, place);
}

bool try_above(const CgroupLocation& own, V2Place& place) {
  const std::string& top = own.mount.mount_point;
  if (::geteuid() == 0 && is_true_root(top)) return try_place(top, place);
  return own.directory != top && try_place(parent_of(own.directory), place);
}

}  // namespace

Result<UniqueFd> open_writable_directory(const std::string& path) {
  auto directory = TRY(open_file(path, O_RDONLY | O_DIRECTORY));
  if (::faccessat(directory.get(), ".", W_OK | X_OK, AT_EACCESS) != 0) {
    return syscall_failure("this user may not write to", path);
  }
  return directory;
}

std::vector<std::string> enable_controllers(int directory,
                                            const std::vector<std::string>& controllers) {
  std::vector<std::string> enabled;
  for (const auto& controller : controllers) {
    // A failure does not matter if the controller is on already; the file is read below.
    (void)write_value_at(directory, "cgroup.subtree_control", "+" + controller);
  }
  for (const auto& on : words_of(read_file_at(directory, "cgroup.subtree_control"))) {
    for (const auto& wanted : controllers) {
      if (on == wanted) enabled.push_back(on);
    }
  }
  return enabled;
}

V2Place find_v2_place(const CgroupLocation& own) {
  V2Place place;
  if (is_true_root(own.directory)) {
    if (try_place(own.directory, place)) return place;
  } else {
    if (try_delegated(own, place)) return place;
    const std::string why_not_delegated = place.why_not;
    if (try_above(own, place)) return place;
    if (!why_not_delegated.empty()) place.why_not = why_not_delegated;
  }
  if (place.why_not.empty()) place.why_not = fmt::format("{} is not delegated", own.directory);
  // A cgroup without controllers can still freeze and kill.
  if (auto directory = open_writable_directory(own.directory)) {
    place.directory = std::move(*directory);
    place.path = own.directory;
  }
  return place;
}

}  // namespace nutshell::native
