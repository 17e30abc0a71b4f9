#include "compaction/own_renderers.h"

#include <array>
#include <cassert>
#include <string_view>
#include <vector>

namespace nutshell::compaction {
namespace {

struct OwnFile {
  std::string_view name;
  std::string_view toml;
};

// The build writes this list from the files.
constexpr OwnFile kOwnFiles[] = {
#include "own_renderers.inc"
};

std::vector<UserRenderer> read_own() {
  std::vector<UserRenderer> renderers;
  for (const OwnFile& file : kOwnFiles) {
    auto renderer = UserRenderer::parse(file.toml, file.name);
    assert(renderer);
    if (renderer) renderers.push_back(std::move(*renderer));
  }
  return renderers;
}

}  // namespace

std::span<const UserRenderer> own_renderers() {
  static const std::vector<UserRenderer> kRenderers = read_own();
  return kRenderers;
}

}  // namespace nutshell::compaction
