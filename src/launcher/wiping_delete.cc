#include "launcher/wiping_delete.h"

#include <malloc.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

// Written once, by init while it has one thread.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): operator delete has no object
bool is_wiping = true;

void wipe_and_free(void* block) noexcept {
  if (block != nullptr && is_wiping) ::explicit_bzero(block, ::malloc_usable_size(block));
  std::free(block);  // NOLINT(cppcoreguidelines-no-malloc)
}

}  // namespace

namespace nutshell::launcher {

void stop_wiping() noexcept {
  is_wiping = false;
}

}  // namespace nutshell::launcher

// The library's operator new stays in use: it allocates with malloc.
// NOLINTBEGIN(misc-new-delete-overloads)
void operator delete(void* block) noexcept {
  wipe_and_free(block);
}

void operator delete(void* block, std::size_t /*size*/) noexcept {
  wipe_and_free(block);
}
// NOLINTEND(misc-new-delete-overloads)
