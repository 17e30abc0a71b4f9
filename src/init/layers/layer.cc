#include "init/layers/layer.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>

#include "base/beneath.h"
#include "base/file.h"
#include "core/layer_names.h"
#include "init/files/remove_tree.h"

namespace nutshell::init {
namespace {

constexpr const char* kOpaque = "user.overlay.opaque";
constexpr const char* kTrial = "user.overlay.nutshell";

}  // namespace

Result<std::shared_ptr<Layer>> Layer::create(int store, const std::string& name) {
  const std::string work = name + kWorkSuffix;
  for (const std::string& directory : {name, work}) {
    if (::mkdirat(store, directory.c_str(), 0755) != 0) return syscall_failure("make layer", name);
  }
  return open(store, name);
}

Result<std::shared_ptr<Layer>> Layer::open(int store, const std::string& name) {
  return std::make_shared<Layer>(store, name,
                                 TRY(open_at(store, name.c_str(), O_RDONLY | O_DIRECTORY)));
}

std::shared_ptr<Layer> Layer::base(UniqueFd directory) {
  return std::make_shared<Layer>(-1, "base", std::move(directory));
}

// Files that cannot be removed count for the sandbox's disk limit, and are removed with it.
Layer::~Layer() {
  if (store_ < 0) return;
  (void)remove_tree(store_, name_);
  const std::string work = name_ + kWorkSuffix;
  ::unlinkat(store_, (work + "/work").c_str(), AT_REMOVEDIR);  // the kernel's own; empty, mode 0
  ::unlinkat(store_, work.c_str(), AT_REMOVEDIR);
}

bool Layer::is_empty() const {
  auto opened = open_beneath(directory_.get(), ".", O_RDONLY | O_DIRECTORY, 0, Links::Refuse);
  if (!opened) return false;
  DIR* entries = ::fdopendir(opened->release());
  if (entries == nullptr) return false;
  bool is_empty = true;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): a stream of ours
  for (const dirent* entry = ::readdir(entries); entry != nullptr; entry = ::readdir(entries)) {
    is_empty = is_empty && !is_plain_name(entry->d_name);
  }
  ::closedir(entries);
  return is_empty;
}

bool is_whiteout(const struct stat& status) {
  return S_ISCHR(status.st_mode) && status.st_rdev == makedev(0, 0);
}

bool is_opaque(int directory) {
  std::array<char, 2> value{};
  return ::fgetxattr(directory, kOpaque, value.data(), value.size()) == 1 && value[0] == 'y';
}

Result<> make_opaque(int directory) {
  if (::fsetxattr(directory, kOpaque, "y", 1, 0) != 0) return syscall_failure("set", kOpaque);
  return {};
}

bool can_be_marked(int directory) {
  if (::fsetxattr(directory, kTrial, "y", 1, 0) != 0) return false;
  ::fremovexattr(directory, kTrial);
  return true;
}

}  // namespace nutshell::init
