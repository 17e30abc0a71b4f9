// Finds the encoding of a text file, decodes it, and encodes it again byte for byte.
#pragma once

#include <string>
#include <string_view>

#include "init/files/attempt.h"

namespace nutshell::init {

enum class Encoding { Binary, Utf8, Utf8Bom, Utf16Le, Utf16Be, Unknown8Bit };

// "utf-8-bom"; empty for Binary.
std::string_view to_string(Encoding encoding);

// Text has no NUL, and none of the marks of a known binary format.
Encoding detect_encoding(std::string_view bytes);

// Finds the media type by the first bytes: "image/png", "text/plain", "application/octet-stream".
std::string media_type(std::string_view bytes, Encoding encoding);

// Decodes to UTF-8 without a byte order mark. Takes the bytes, because most text is that already.
std::string to_utf8(std::string bytes, Encoding encoding);
// Refuses text with a character that the encoding does not have.
Attempt<std::string> from_utf8(std::string text, Encoding encoding);

}  // namespace nutshell::init
