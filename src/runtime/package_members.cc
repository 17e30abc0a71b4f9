#include "runtime/package_members.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

namespace nutshell {
namespace {

// Members that describe the package or list its dependencies.
constexpr std::array<std::string_view, 46> kInert = {
    "name",
    "version",
    "description",
    "keywords",
    "author",
    "authors",
    "contributors",
    "maintainers",
    "license",
    "licenses",
    "homepage",
    "repository",
    "bugs",
    "support",
    "funding",
    "private",
    "type",
    "main",
    "module",
    "browser",
    "types",
    "typings",
    "typesVersions",
    "exports",
    "imports",
    "files",
    "sideEffects",
    "engines",
    "os",
    "cpu",
    "bin",
    "dependencies",
    "devDependencies",
    "peerDependencies",
    "peerDependenciesMeta",
    "optionalDependencies",
    "bundleDependencies",
    "bundledDependencies",
    "require",
    "require-dev",
    "autoload",
    "autoload-dev",
    "suggest",
    "conflict",
    "minimum-stability",
    "prefer-stable",
};

using Json = nlohmann::json;

bool is_inert(const std::string& member) {
  return std::find(kInert.begin(), kInert.end(), member) != kInert.end();
}

std::string first_difference(const Json& one, const Json& other) {
  for (const auto& [name, value] : one.items()) {
    if (is_inert(name)) continue;
    const auto found = other.find(name);
    if (found == other.end() || *found != value) return name.substr(0, 60);
  }
  return {};
}

}  // namespace

bool is_package_file(std::string_view folded_name) {
  return folded_name == "package.json" || folded_name == "composer.json";
}

std::string changed_member(const std::optional<std::string>& before, const std::string& after) {
  const Json fresh = Json::parse(after, nullptr, false);
  const Json old = before ? Json::parse(*before, nullptr, false) : Json::object();
  if (!fresh.is_object() || !old.is_object()) return "scripts";
  const std::string difference = first_difference(fresh, old);
  return difference.empty() ? first_difference(old, fresh) : difference;
}

}  // namespace nutshell
