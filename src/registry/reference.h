// The name of an image in a registry: "debian:12", "ghcr.io/me/app@sha256:…".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace nutshell::registry {

struct Reference {
  std::string registry;  // as in Docker's configuration: empty for Docker's own
  std::string host;      // to connect to
  std::uint16_t port = 443;
  bool is_plain = false;   // HTTP without TLS: only on this machine
  std::string repository;  // "library/debian"
  std::string version;     // a tag, or a digest
  bool is_digest = false;
  std::string local_name;  // NAME:TAG for the store; without a tag if it is named by digest
};

Result<Reference> parse_reference(std::string_view text);

}  // namespace nutshell::registry
