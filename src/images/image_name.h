// What images are called: NAME[:TAG], or the digest of their configuration.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace nutshell::images {

// "debian" is debian:latest. Refuses what is no name: letters, digits and ._- in parts between
// slashes, none of which begins with a dot or a dash.
Result<std::string> whole_name(std::string_view text);

// A name as a file's name, and back.
std::string to_file_name(std::string_view name);
std::string from_file_name(std::string_view file);

// 64 hexadecimal digits in small letters.
bool is_digest(std::string_view text);
// Those of "sha256:…"; no other algorithm is known.
Result<std::string> parse_digest(std::string_view text);

// A short text of a stranger's for a message: bytes that a terminal would obey are shown as "?".
std::string shown(std::string_view text);

}  // namespace nutshell::images
