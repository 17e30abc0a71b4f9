// What the launcher frees, it wipes: each init begins as a copy of its memory, and must not find
// there what another sandbox was told, its environment above all.
#include <malloc.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

#include "base/socket.h"

namespace {

// Whatever has to do with a request is no larger; what is larger is an init's, and the contents of
// files.
constexpr std::size_t kMostWiped = nutshell::kMostPacketBytes + 4096;

void wipe_and_free(void* block) noexcept {
  if (block == nullptr) return;
  const std::size_t size = ::malloc_usable_size(block);
  if (size <= kMostWiped) ::explicit_bzero(block, size);
  std::free(block);  // NOLINT(cppcoreguidelines-no-malloc)
}

}  // namespace

// The library's new stays: it takes memory from malloc.
// NOLINTBEGIN(misc-new-delete-overloads)
void operator delete(void* block) noexcept {
  wipe_and_free(block);
}

void operator delete(void* block, std::size_t /*size*/) noexcept {
  wipe_and_free(block);
}
// NOLINTEND(misc-new-delete-overloads)
