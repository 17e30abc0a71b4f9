#include "init/layers/mounted_layer.h"

#include <algorithm>
#include <set>
#include <vector>

#include "base/file.h"

namespace nutshell::init {
namespace {

constexpr std::string_view kPlace = "/workspace";
constexpr std::size_t kMostTableBytes = 4U << 20U;

std::string_view next_word(std::string_view& line) {
  const std::size_t end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

struct Mount {
  std::string_view id;
  std::string_view parent;
  std::string_view root;  // the mounted directory, within its file system
  std::string_view system;
  std::string_view options;  // of the file system
};

// "36 35 98:0 /root /place options optional... - type source options"
Mount parse_line(std::string_view line, std::string_view& place) {
  Mount mount;
  mount.id = next_word(line);
  mount.parent = next_word(line);
  next_word(line);
  mount.root = next_word(line);
  place = next_word(line);
  while (!line.empty() && next_word(line) != "-") {
  }
  mount.system = next_word(line);
  next_word(line);
  mount.options = next_word(line);
  return mount;
}

std::string upper_of(std::string_view options) {
  constexpr std::string_view kKey = "upperdir=";
  while (!options.empty()) {
    const std::size_t end = std::min(options.find(','), options.size());
    const std::string_view option = options.substr(0, end);
    options.remove_prefix(std::min(end + 1, options.size()));
    if (option.starts_with(kKey)) return std::string(option.substr(kKey.size()));
  }
  return {};
}

}  // namespace

Result<std::string> mounted_layer_in(std::string_view mount_table) {
  std::vector<Mount> found;
  std::set<std::string_view> covered;  // a mount that another one is mounted on is not on top
  while (!mount_table.empty()) {
    const std::size_t end = std::min(mount_table.find('\n'), mount_table.size());
    std::string_view place;
    const Mount mount = parse_line(mount_table.substr(0, end), place);
    mount_table.remove_prefix(std::min(end + 1, mount_table.size()));
    if (place != kPlace) continue;
    found.push_back(mount);
    covered.insert(mount.parent);
  }
  for (const Mount& mount : found) {
    if (covered.contains(mount.id)) continue;
    if (mount.system == "overlay") return upper_of(mount.options);
    return std::string(mount.root.substr(mount.root.rfind('/') + 1));
  }
  return failure(ErrorCode::NotFound, "nothing is mounted at /workspace");
}

Result<std::string> mounted_layer() {
  return mounted_layer_in(TRY(read_file("/proc/self/mountinfo", kMostTableBytes)));
}

}  // namespace nutshell::init
