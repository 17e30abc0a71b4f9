// SHA-256 (FIPS 180-4), for recognising a file or an output.
#pragma once

#include <string>
#include <string_view>

namespace nutshell {

std::string sha256_hex(std::string_view bytes);

}  // namespace nutshell
