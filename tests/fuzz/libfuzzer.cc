// libFuzzer's entry; NUTSHELL_ENTRY_POINT names the function of entry_points.h.
#include <cstddef>
#include <cstdint>

#include "entry_points.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  nutshell::fuzz::NUTSHELL_ENTRY_POINT({reinterpret_cast<const char*>(data), size});
  return 0;
}
