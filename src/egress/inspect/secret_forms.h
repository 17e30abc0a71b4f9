// The forms in which servers repeat a value that they were sent: escaped for URLs, JSON or HTML, in
// base64 or in hexadecimal digits.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nutshell::egress {

// The value itself is the first one. Each form stands once; letter case may differ in an answer.
std::vector<std::string> forms_of(std::string_view value);

}  // namespace nutshell::egress
