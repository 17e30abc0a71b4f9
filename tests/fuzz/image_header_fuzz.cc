#include <cstdlib>

#include "entry_points.h"
#include "tools/image_header.h"

namespace nutshell::fuzz {

// An accepted image has a type and a size that the APIs of models accept.
void fuzz_image_header(std::string_view input) {
  const ImageHeader header = read_image_header(input);
  if (!why_refused(header, input.size()).empty()) return;
  const bool has_size = header.width > 0 && header.width <= kMostImagePixels && header.height > 0 &&
                        header.height <= kMostImagePixels;
  if (!has_size || header.media_type.empty() || !header.fault.empty()) std::abort();
}

}  // namespace nutshell::fuzz
