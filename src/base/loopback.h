// Tells addresses of this machine from names of others, such as 127.0.0.1.example.org.
#pragma once

#include <string_view>

namespace nutshell {

// Whether the text is an IP address of this machine's own loopback network, without brackets.
bool is_loopback_address(std::string_view text);

// The same, or the name localhost.
bool is_loopback_host(std::string_view host);

}  // namespace nutshell
