#include "init/layers/mounted_layer.h"

#include <algorithm>
#include <set>
#include <vector>

#include "base/file.h"
#include "core/layer_names.h"

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

std::string_view option_of(std::string_view options, std::string_view key) {
  while (!options.empty()) {
    const std::size_t end = std::min(options.find(','), options.size());
    const std::string_view option = options.substr(0, end);
    options.remove_prefix(std::min(end + 1, options.size()));
    if (option.starts_with(key)) return option.substr(key.size());
  }
  return {};
}

Result<Mount> top_mount_in(std::string_view mount_table) {
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
    if (!covered.contains(mount.id)) return mount;
  }
  return failure(ErrorCode::NotFound, "nothing is mounted at /workspace");
}

std::string top_layer_of(const Mount& mount) {
  if (mount.system == "overlay") return std::string(option_of(mount.options, "upperdir="));
  return std::string(mount.root.substr(mount.root.rfind('/') + 1));
}

}  // namespace

Result<std::string> mounted_layer_in(std::string_view mount_table) {
  return top_layer_of(TRY(top_mount_in(mount_table)));
}

Result<std::vector<std::string>> mounted_layers_in(std::string_view mount_table) {
  const Mount mount = TRY(top_mount_in(mount_table));
  std::vector<std::string> layers = {top_layer_of(mount)};
  if (mount.system != "overlay") return layers;
  std::string_view lower = option_of(mount.options, "lowerdir=");  // the highest first
  while (!lower.empty()) {
    const std::size_t end = std::min(lower.find(':'), lower.size());
    if (lower.substr(0, end) != kBaseLayer) layers.emplace_back(lower.substr(0, end));
    lower.remove_prefix(std::min(end + 1, lower.size()));
  }
  std::reverse(layers.begin(), layers.end());
  return layers;
}

Result<std::string> mounted_layer() {
  return mounted_layer_in(TRY(read_file("/proc/self/mountinfo", kMostTableBytes)));
}

}  // namespace nutshell::init
