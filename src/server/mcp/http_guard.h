// Checks whether a request over HTTP may be served, and whether its headers agree with its body.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/message.h"
#include "server/mcp/host.h"

namespace nutshell::mcp {

// A web page can make a browser send requests to any name that resolves to this machine. So only
// names of this machine, and those that were allowed, are served.
struct AllowedNames {
  std::vector<std::string> hosts;    // "sandbox.example.com", without port
  std::vector<std::string> origins;  // "https://app.example.com"
};
// nullopt, or the reason to refuse the request.
std::optional<std::string> check_names(const http::Headers& headers, const AllowedNames& allowed);

// Decodes "=?base64?…?=" and returns other values unchanged; nullopt if the encoding is broken.
std::optional<std::string> header_value(std::string_view raw);

// In the stateless revision gateways route by headers, so these must agree with the message.
std::optional<Problem> check_headers(const http::Headers& headers, const Message& message,
                                     const std::vector<MirroredParameter>& mirrored);

}  // namespace nutshell::mcp
