// Bytes as text: images in results, names in headers.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace nutshell {

std::string to_base64(std::string_view bytes);
// Nothing: a letter that is not of the alphabet, or not padded as it must be.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace nutshell
