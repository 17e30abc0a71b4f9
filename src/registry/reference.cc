#include "registry/reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/loopback.h"
#include "images/image_name.h"

namespace nutshell::registry {
namespace {

constexpr const char* kDockerHost = "registry-1.docker.io";
constexpr std::size_t kMostBytes = 512;

Failure invalid(std::string_view text) {
  return failure(ErrorCode::InvalidArgument,
                 fmt::format("'{}' is not the name of an image: [REGISTRY/]NAME[:TAG] or "
                             "[REGISTRY/]NAME@sha256:DIGEST",
                             images::shown(text)));
}

bool is_repository(std::string_view text) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
           std::string_view("._-/").find(c) != std::string_view::npos;
  };
  return !text.empty() && std::all_of(text.begin(), text.end(), is_letter) &&
         text.find("//") == text.npos && text.find("..") == text.npos && text.front() != '/' &&
         text.back() != '/';
}

bool is_tag(std::string_view text) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._-").find(c) != std::string_view::npos;
  };
  return !text.empty() && text.size() <= 128 && text.front() != '.' && text.front() != '-' &&
         std::all_of(text.begin(), text.end(), is_letter);
}

// The first part of a name is a registry if it can only be a host.
bool is_registry(std::string_view part) {
  return part == "localhost" || part.find('.') != part.npos || part.find(':') != part.npos;
}

Result<> take_registry(std::string_view name, Reference& reference) {
  if (name == "docker.io" || name == "index.docker.io") return {};
  reference.registry = name;
  const std::size_t bracket = name.starts_with('[') ? name.find(']') : 0;
  if (bracket == std::string_view::npos) return invalid(name);
  const std::size_t colon = name.find(':', bracket);
  std::string_view host = name.substr(0, colon);
  if (bracket > 0) host = host.substr(1, bracket - 1);
  const bool is_host = !host.empty() && std::all_of(host.begin(), host.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view(".-:").find(c) != std::string_view::npos;
  });
  if (!is_host) return invalid(name);
  reference.host = host;
  reference.is_plain = is_loopback_host(host);
  reference.port = reference.is_plain ? 80 : 443;
  if (colon == std::string_view::npos) return {};
  const std::string_view digits = name.substr(colon + 1);
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), reference.port);
  const bool is_port = error == std::errc() && end == digits.data() + digits.size();
  return is_port && reference.port > 0 ? Result<>() : Result<>(invalid(name));
}

}  // namespace

Result<Reference> parse_reference(std::string_view text) {
  if (text.size() > kMostBytes) return invalid(text);
  Reference reference;
  reference.host = kDockerHost;
  std::string_view rest = text;
  const std::size_t slash = rest.find('/');
  if (slash != std::string_view::npos && is_registry(rest.substr(0, slash))) {
    TRY(take_registry(rest.substr(0, slash), reference));
    rest.remove_prefix(slash + 1);
  }
  const std::size_t at = rest.find('@');
  const std::size_t colon = rest.substr(0, at).find(':');
  std::string_view tag = "latest";
  if (colon != std::string_view::npos) tag = rest.substr(colon + 1, at - colon - 1);
  if (at != std::string_view::npos) {
    if (!images::parse_digest(rest.substr(at + 1))) return invalid(text);
    reference.version = rest.substr(at + 1);
    reference.is_digest = true;
  } else {
    reference.version = tag;
  }
  const std::string_view repository = rest.substr(0, std::min(colon, at));
  if (!is_repository(repository) || !is_tag(tag)) return invalid(text);
  const bool is_official =
      reference.registry.empty() && repository.find('/') == std::string_view::npos;
  reference.repository = is_official ? fmt::format("library/{}", repository) : repository;
  reference.local_name = fmt::format(
      "{}{}{}", reference.registry.empty() ? "" : reference.registry + "/", repository,
      reference.is_digest && colon == std::string_view::npos ? "" : fmt::format(":{}", tag));
  return reference;
}

}  // namespace nutshell::registry
