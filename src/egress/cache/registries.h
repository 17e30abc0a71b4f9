// The package registries whose downloads are kept, and which of their files never change. Only
// their own hosts count: a mirror with another name is not cached.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace nutshell::egress {

enum class PackageFile {
  None,       // not of a registry: never kept
  Immutable,  // a release: kept and given without a question
  Index,      // a list: kept, and asked about again when it is used
};

// Names are those of NetworkPolicy::caches: pypi, npm, crates, go, debian.
Result<> check_registries(const std::vector<std::string>& registries);
std::vector<std::string> hosts_of_registry(std::string_view registry);

// `path` is without the query.
PackageFile package_file(const std::vector<std::string>& registries, std::string_view host,
                         std::string_view path);

}  // namespace nutshell::egress
