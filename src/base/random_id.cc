#include "base/random_id.h"

#include <sys/random.h>

#include <cstdlib>

namespace nutshell {

std::uint64_t random_number() {
  std::uint64_t number = 0;
  // Up to 256 bytes arrive whole once the kernel's pool is ready; it is, long before we run.
  if (::getrandom(&number, sizeof number, 0) != sizeof number) std::abort();
  return number;
}

std::string random_id(std::size_t hex_digits) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string id;
  while (id.size() < hex_digits) {
    std::uint64_t bits = random_number();
    for (int i = 0; i < 16 && id.size() < hex_digits; ++i, bits >>= 4U)
      id += kDigits[bits & 15U];
  }
  return id;
}

}  // namespace nutshell
