// Images that a backend pulls by name when a sandbox needs one that is missing. A backend that does
// so implements ImageHolder too.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "core/sandbox_spec.h"

namespace nutshell {

// Whether a pull uses the account that this user has at the registry. An image that a tenant names
// is pulled without it, because it would give the tenant everything that the user may pull.
enum class PullAccount : std::uint8_t { OfUser, None };
inline PullAccount account_for(const SandboxSpec& spec) {
  return spec.image_naming == ImageNaming::NameOnly ? PullAccount::None : PullAccount::OfUser;
}

class ImageHolder {
 public:
  virtual ~ImageHolder() = default;
  // The bytes it takes on the engine's disk; nullopt if it is missing, so that a start would pull
  // it.
  virtual Result<std::optional<std::uint64_t>> image_bytes(const std::string& image) = 0;
  // Pulls it now, as a start would.
  virtual Result<> fetch_image(const std::string& image, PullAccount account) = 0;
  virtual Result<> remove_image(const std::string& image) = 0;
};

}  // namespace nutshell
