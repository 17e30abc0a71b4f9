#include "egress/cache/registries.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace nutshell::egress {
namespace {

bool begins(std::string_view text, std::string_view with) {
  return text.substr(0, with.size()) == with;
}

bool ends(std::string_view text, std::string_view with) {
  return text.size() >= with.size() && text.substr(text.size() - with.size()) == with;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

PackageFile immutable_if(bool is_immutable) {
  return is_immutable ? PackageFile::Immutable : PackageFile::None;
}

PackageFile pypi_file(std::string_view host, std::string_view path) {
  if (host == "files.pythonhosted.org") return immutable_if(begins(path, "/packages/"));
  const bool is_json = begins(path, "/pypi/") && ends(path, "/json");
  return begins(path, "/simple/") || is_json ? PackageFile::Index : PackageFile::None;
}

PackageFile npm_file(std::string_view /*host*/, std::string_view path) {
  if (contains(path, "/-/")) return immutable_if(ends(path, ".tgz"));
  return begins(path, "/-") ? PackageFile::None : PackageFile::Index;
}

PackageFile crates_file(std::string_view host, std::string_view path) {
  if (host == "static.crates.io") return immutable_if(begins(path, "/crates/"));
  return PackageFile::Index;
}

PackageFile checksum_file(std::string_view path) {
  if (begins(path, "/lookup/") || begins(path, "/tile/")) return PackageFile::Immutable;
  return path == "/latest" || path == "/supported" ? PackageFile::Index : PackageFile::None;
}

PackageFile go_file(std::string_view host, std::string_view path) {
  constexpr std::string_view kSums = "/sumdb/sum.golang.org";
  if (host == "sum.golang.org") return checksum_file(path);
  if (begins(path, kSums)) return checksum_file(path.substr(kSums.size()));
  if (ends(path, "/@v/list") || ends(path, "/@latest")) return PackageFile::Index;
  if (!contains(path, "/@v/")) return PackageFile::None;
  // A branch's .info names the commit that it had then; versions begin with "v" and a digit.
  const std::string_view name = path.substr(path.rfind('/') + 1);
  const bool is_version = name.size() > 1 && name[0] == 'v' && name[1] >= '0' && name[1] <= '9';
  const bool is_release = ends(path, ".info") || ends(path, ".mod") || ends(path, ".zip");
  if (!is_release) return PackageFile::None;
  return is_version && contains(name, ".") ? PackageFile::Immutable : PackageFile::Index;
}

PackageFile debian_file(std::string_view /*host*/, std::string_view path) {
  if (contains(path, "/pool/")) {
    static constexpr std::array<std::string_view, 6> kReleased = {".deb", ".udeb", ".dsc",
                                                                  ".xz",  ".gz",   ".bz2"};
    return immutable_if(std::any_of(kReleased.begin(), kReleased.end(),
                                    [&](std::string_view suffix) { return ends(path, suffix); }));
  }
  if (!contains(path, "/dists/")) return PackageFile::None;
  return contains(path, "/by-hash/") ? PackageFile::Immutable : PackageFile::Index;
}

struct Registry {
  std::string_view name;
  std::array<std::string_view, 3> hosts;
  PackageFile (*file)(std::string_view host, std::string_view path);
};

constexpr std::array kRegistries = {
    Registry{"pypi", {"pypi.org", "files.pythonhosted.org", ""}, pypi_file},
    Registry{"npm", {"registry.npmjs.org", "", ""}, npm_file},
    Registry{"crates", {"index.crates.io", "static.crates.io", ""}, crates_file},
    Registry{"go", {"proxy.golang.org", "sum.golang.org", ""}, go_file},
    Registry{
        "debian", {"deb.debian.org", "security.debian.org", "archive.debian.org"}, debian_file},
};

const Registry* registry_of(std::string_view name) {
  for (const Registry& registry : kRegistries) {
    if (registry.name == name) return &registry;
  }
  return nullptr;
}

}  // namespace

Result<> check_registries(const std::vector<std::string>& registries) {
  for (const std::string& name : registries) {
    if (registry_of(name) != nullptr) continue;
    return failure(ErrorCode::InvalidArgument,
                   fmt::format("There is no cache for '{}'. Caches are: pypi, npm, crates, go, "
                               "debian.",
                               name));
  }
  return {};
}

std::vector<std::string> hosts_of_registry(std::string_view registry) {
  std::vector<std::string> hosts;
  const Registry* found = registry_of(registry);
  if (found == nullptr) return hosts;
  for (const std::string_view host : found->hosts) {
    if (!host.empty()) hosts.emplace_back(host);
  }
  return hosts;
}

PackageFile package_file(const std::vector<std::string>& registries, std::string_view host,
                         std::string_view path) {
  for (const std::string& name : registries) {
    const Registry* registry = registry_of(name);
    if (registry == nullptr) continue;
    const auto& hosts = registry->hosts;
    if (!host.empty() && std::find(hosts.begin(), hosts.end(), host) != hosts.end())
      return registry->file(host, path);
  }
  return PackageFile::None;
}

}  // namespace nutshell::egress
