// Images that a backend pulls by name when a sandbox needs one that is missing. A backend that does
// so implements ImageHolder too.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

namespace nutshell {

class ImageHolder {
 public:
  virtual ~ImageHolder() = default;
  // The bytes it takes on the engine's disk; nullopt if it is missing, so that a start would pull
  // it.
  virtual Result<std::optional<std::uint64_t>> image_bytes(const std::string& image) = 0;
  // Pulls it now, as a start would.
  virtual Result<> fetch_image(const std::string& image) = 0;
  virtual Result<> remove_image(const std::string& image) = 0;
};

}  // namespace nutshell
