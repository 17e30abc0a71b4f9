// Base64 (RFC 4648): bytes as text, for images in results and names in headers.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace nutshell {

std::string to_base64(std::string_view bytes);
// Returns nullopt for a letter outside the alphabet and for wrong padding.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace nutshell
