// Fetches an image from a registry, without an engine, as an OCI layout. Importing the layout
// checks the digest of every layer.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "base/result.h"
#include "registry/client.h"
#include "registry/credential_program.h"
#include "registry/reference.h"

namespace nutshell::registry {

struct PullProgress {
  std::size_t layers = 0;
  std::size_t layers_done = 0;
  std::uint64_t bytes = 0;
  std::uint64_t bytes_total = 0;
};
using PullVisitor = std::function<void(const PullProgress&)>;  // may be null

struct PullOrder {
  Reference reference;
  RegistryAccount account = {};
  std::uint64_t most_bytes = 0;  // of all layers, packed
  PullVisitor visit = nullptr;
  Patience patience = {};
};

// Writes the layout into an empty directory.
Result<> pull(const PullOrder& order, const std::filesystem::path& directory);

}  // namespace nutshell::registry
