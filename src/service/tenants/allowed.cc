#include "service/tenants/allowed.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "backends/registry.h"

namespace nutshell::service {
namespace {

using List = std::vector<std::string>;

bool is_among(const List& list, const std::string& word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

Failure not_allowed(std::string_view what, const std::string& given, const List& list) {
  return failure(ErrorCode::PermissionDenied,
                 fmt::format("{} '{:.200}' is not among those that the operator allows: {}", what,
                             given, fmt::join(list, ", ")));
}

bool is_registry(std::string_view part) {
  return part == "localhost" || part.find_first_of(".:") != std::string_view::npos;
}

// '*' matches any characters. Takes time in proportion to the product of both lengths at most.
bool fits(std::string_view pattern, std::string_view text) {
  std::size_t at = 0;
  std::size_t star = std::string_view::npos;
  std::size_t retry = 0;
  std::size_t i = 0;
  while (i < text.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      retry = i;
    } else if (at < pattern.size() && pattern[at] == text[i]) {
      ++at;
      ++i;
    } else if (star != std::string_view::npos) {
      at = star + 1;
      i = ++retry;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', at) == std::string_view::npos;
}

// Judges only the spelling: a look at the file system would reveal which files exist.
bool looks_like_a_path(const std::string& image) {
  const auto has = [&image](const char* part) { return image.find(part) != std::string::npos; };
  return image.starts_with('/') || image.starts_with('.') || has("/.") || has("//") ||
         image.ends_with('/');
}

Result<> check_host_files(const Caller& caller, const SandboxSpec& spec) {
  if (caller.host_files == HostFiles::Allowed) return {};
  if (mode_of(spec.network) != NetworkMode::None) TRY(check_network_allowed(caller));
  const bool names_files = !is_without_directories(spec) || spec.toolchains != Toolchains::None ||
                           looks_like_a_path(spec.image);
  if (!names_files && spec.unsafe_without.empty()) return {};
  return failure(
      ErrorCode::PermissionDenied,
      "workspace, mounts, unsafe_mounts, toolchains, unsafe_without and images by path are "
      "for clients on the daemon's own socket: copy files in instead");
}

}  // namespace

// The daemon's machine may reach what its clients must not: its own network, for example.
Result<> check_network_allowed(const Caller& caller) {
  if (caller.host_files == HostFiles::Allowed) return {};
  return failure(ErrorCode::PermissionDenied,
                 "network: only clients on the daemon's own socket can ask for one; leave it out");
}

std::string whole_image_name(const std::string& image) {
  const std::size_t first = image.find('/');
  const bool has_registry = first != std::string::npos && is_registry(image.substr(0, first));
  std::string whole = has_registry ? image : "docker.io/" + image;
  if (first == std::string::npos) whole = "docker.io/library/" + image;
  const std::string_view last = std::string_view(whole).substr(whole.rfind('/'));
  if (last.find_first_of(":@*") == std::string_view::npos) whole += ":latest";
  return whole;
}

std::string registry_of_image(const std::string& image) {
  const std::string whole = whole_image_name(image);
  return whole.substr(0, whole.find('/'));
}

bool fits_image(const std::string& pattern, const std::string& image) {
  // A pattern that begins with a star matches whole names.
  const std::string whole = pattern.starts_with('*') ? pattern : whole_image_name(pattern);
  return fits(whole, whole_image_name(image));
}

Result<> check_allowed(const TenantRules& rules, const Caller& caller, const SandboxSpec& spec) {
  if (caller.host_files == HostFiles::Allowed) return {};
  const Allowed& allowed = rules.allowed_of(caller.tenant);
  const std::string backend =
      spec.backend.empty() ? std::string(backend_registry().front().name) : spec.backend;
  if (!allowed.backends.empty() && !is_among(allowed.backends, backend))
    return not_allowed("backend", backend, allowed.backends);
  if (!spec.runtime.empty() && !allowed.runtimes.empty() &&
      !is_among(allowed.runtimes, spec.runtime))
    return not_allowed("runtime", spec.runtime, allowed.runtimes);
  if (spec.image.empty()) return {};
  if (!allowed.registries.empty() && !is_among(allowed.registries, registry_of_image(spec.image)))
    return not_allowed("registry", registry_of_image(spec.image), allowed.registries);
  const auto fits_it = [&](const std::string& pattern) { return fits_image(pattern, spec.image); };
  const List& images = allowed.images;
  if (images.empty() || std::any_of(images.begin(), images.end(), fits_it)) return {};
  return not_allowed("image", spec.image, images);
}

Result<SandboxSpec> admit_spec(const TenantRules& rules, const Caller& caller, SandboxSpec spec) {
  TRY(check_host_files(caller, spec));
  TRY(check_allowed(rules, caller, spec));
  if (caller.host_files == HostFiles::Denied) spec.image_naming = ImageNaming::NameOnly;
  return spec;
}

}  // namespace nutshell::service
