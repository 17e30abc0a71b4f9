// Names of images: NAME[:TAG], or the digest of their configuration.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace nutshell::images {

// Completes a name: "debian" becomes debian:latest. A name has letters, digits and ._- in parts
// between slashes, none of which begins with a dot or a dash; refuses others.
Result<std::string> whole_name(std::string_view text);

// Turns a name into a file name, and back.
std::string to_file_name(std::string_view name);
std::string from_file_name(std::string_view file);

// Whether the text is 64 hexadecimal digits in lower case.
bool is_digest(std::string_view text);
// Returns the digits of "sha256:…"; refuses other algorithms.
Result<std::string> parse_digest(std::string_view text);

// Shortens an untrusted text for a message; control characters become "?".
std::string shown(std::string_view text);

}  // namespace nutshell::images
