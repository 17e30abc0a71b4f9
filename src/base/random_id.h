// Random names that cannot be guessed.
#pragma once

#include <cstdint>
#include <string>

namespace nutshell {

std::uint64_t random_number();
std::string random_id(std::size_t hex_digits);

}  // namespace nutshell
