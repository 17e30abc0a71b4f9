// Bytes as text, for JSON.
#pragma once

#include <string>
#include <string_view>

namespace nutshell::cli {

std::string base64(std::string_view bytes);

}  // namespace nutshell::cli
