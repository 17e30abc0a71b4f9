// Names of our containers. Only a container with such a name is ever removed.
#pragma once

#include <string>
#include <string_view>

namespace nutshell::docker {

inline constexpr std::string_view kContainerPrefix = "nutshell-";

inline std::string container_name(const std::string& id) {
  return std::string(kContainerPrefix) + id;
}

}  // namespace nutshell::docker
