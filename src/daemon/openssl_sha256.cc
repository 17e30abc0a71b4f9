// Replaces base/sha256.cc in nutshelld, which hashes every record of its log: OpenSSL uses the
// processor's instructions for SHA-256. Programs that do not link OpenSSL keep the one of base. The
// linker takes this definition because it is an object of the program, not a member of an archive.
#include <openssl/evp.h>

#include <array>

#include "base/sha256.h"

namespace nutshell {

std::string sha256_hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  // Fails only without memory, for a digest that is built in.
  EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr);
  std::string hex;
  hex.reserve(2 * std::size_t{size});
  for (unsigned i = 0; i < size; ++i) {
    hex += kDigits[digest[i] >> 4U];
    hex += kDigits[digest[i] & 15U];
  }
  return hex;
}

}  // namespace nutshell
