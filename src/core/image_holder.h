// Images that a backend fetches by name when a sandbox wants one that is not there. A backend that
// does so is an ImageHolder too; others are not asked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

namespace nutshell {

class ImageHolder {
 public:
  virtual ~ImageHolder() = default;
  // What it takes of the engine's disk; nullopt: it is not there, and a start would pull it.
  virtual Result<std::optional<std::uint64_t>> image_bytes(const std::string& image) = 0;
  // Pulls it now, as a start would.
  virtual Result<> fetch_image(const std::string& image) = 0;
  virtual Result<> remove_image(const std::string& image) = 0;
};

}  // namespace nutshell
