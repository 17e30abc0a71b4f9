#include "images/user_place.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "base/environment.h"
#include "base/file.h"

namespace nutshell::images {
namespace {

// A plain user's process that is root in its own user namespace has only one user there.
bool is_root() {
  if (::geteuid() != 0) return false;
  const auto map = read_file("/proc/self/uid_map", 4096);
  unsigned long inside = 0;
  unsigned long outside = 0;
  unsigned long count = 0;
  // NOLINTNEXTLINE(cert-err34-c): the kernel's own numbers
  const bool is_read =
      map && std::sscanf(map->c_str(), "%lu %lu %lu", &inside, &outside, &count) == 3;
  return !is_read || count > 1;
}

}  // namespace

Result<std::filesystem::path> image_directory() {
  if (const auto named = environment_path("NUTSHELL_IMAGE_DIR"); !named.empty()) return named;
  if (is_root()) return "/var/lib/nutshell/images";
  if (const auto data = environment_path("XDG_DATA_HOME"); !data.empty())
    return data / "nutshell/images";
  if (const auto home = environment_path("HOME"); !home.empty())
    return home / ".local/share/nutshell/images";
  return failure(ErrorCode::NotFound,
                 "there is no place for images: neither NUTSHELL_IMAGE_DIR, XDG_DATA_HOME nor HOME "
                 "names a directory");
}

std::filesystem::path unpacked_directory() {
  if (const auto cache = environment_path("XDG_CACHE_HOME"); !cache.empty())
    return cache / "nutshell/images";
  if (is_root()) return "/var/cache/nutshell/images";
  if (const auto home = environment_path("HOME"); !home.empty())
    return home / ".cache/nutshell/images";
  return fmt::format("/tmp/nutshell-{}/images", ::geteuid());
}

}  // namespace nutshell::images
