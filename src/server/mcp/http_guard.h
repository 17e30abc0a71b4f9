// Who may speak to the server over HTTP, and whether a message's headers say what its body says.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/message.h"
#include "server/mcp/host.h"

namespace nutshell::mcp {

// A page in a browser can make it send requests here under any name that resolves to this machine:
// only names of this machine, and those that were allowed, are served.
struct AllowedNames {
  std::vector<std::string> hosts;    // "sandbox.example.com", without port
  std::vector<std::string> origins;  // "https://app.example.com"
};
// Nothing, or why not.
std::optional<std::string> check_names(const http::Headers& headers, const AllowedNames& allowed);

// "=?base64?…?=" decoded, all else as it is; nothing where it is broken.
std::optional<std::string> header_value(std::string_view raw);

// Of the stateless revision: what gateways route by must be what is done.
std::optional<Problem> check_headers(const http::Headers& headers, const Message& message,
                                     const std::vector<MirroredParameter>& mirrored);

}  // namespace nutshell::mcp
