#include "base/loopback.h"

#include <arpa/inet.h>

#include <string>

namespace nutshell {

bool is_loopback_address(std::string_view text) {
  const std::string address(text);
  if (address.find('\0') != std::string::npos) return false;
  in_addr four{};
  if (::inet_pton(AF_INET, address.c_str(), &four) == 1)
    return ntohl(four.s_addr) >> 24U == IN_LOOPBACKNET;
  in6_addr six{};
  return ::inet_pton(AF_INET6, address.c_str(), &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

bool is_loopback_host(std::string_view host) {
  return host == "localhost" || is_loopback_address(host);
}

}  // namespace nutshell
