// An ability of a backend (core/backend.h): it fetches images by name when a sandbox needs one that
// is not there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

namespace nutshell {

class ImageHolder {
 public:
  virtual ~ImageHolder() = default;
  // Returns the image's size on the engine's disk; nullopt if it is not there and a start would
  // pull it.
  virtual Result<std::optional<std::uint64_t>> image_bytes(const std::string& image) = 0;
  // Pulls it now, as a start would.
  virtual Result<> fetch_image(const std::string& image) = 0;
  virtual Result<> remove_image(const std::string& image) = 0;
};

}  // namespace nutshell
