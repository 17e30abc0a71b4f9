#include <cstdlib>

#include "entry_points.h"
#include "images/elf_needs.h"
#include "images/image_name.h"
#include "images/manifest.h"
#include "images/unpack_process.h"

namespace nutshell::fuzz {

// Accepted digests and names are never paths.
void fuzz_images(std::string_view input) {
  if (const auto index = images::read_index(input)) {
    for (const auto& entry : *index)
      if (!images::is_digest(entry.digest)) std::abort();
  }
  if (const auto manifest = images::read_manifest(input)) {
    for (const auto& layer : manifest->layers)
      if (!images::is_digest(layer.digest)) std::abort();
  }
  if (const auto config = images::read_config(input)) {
    for (const std::string& variable : config->environment)
      if (variable.find('\0') != std::string::npos || variable.find('=') == 0) std::abort();
  }
  (void)images::read_saved_images(input);
  (void)images::read_report(input);
  (void)images::read_elf_needs(input);
  if (const auto name = images::whole_name(input)) {
    const std::string file = images::to_file_name(*name);
    const bool is_sound = file.find('/') == std::string::npos && file.front() != '.' &&
                          images::from_file_name(file) == *name && file.size() < 255;
    if (!is_sound) std::abort();
  }
}

}  // namespace nutshell::fuzz
