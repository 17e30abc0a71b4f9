// A secret that requests get on the host, in the place of its placeholder.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace nutshell::egress {

struct Secret {
  std::string name;
  std::string placeholder;  // as new_placeholder() makes it
  std::string value;
  std::function<bool(const std::string& host, std::uint16_t port)> applies;
  bool is_in_query = false;
  bool is_in_body = false;
};

}  // namespace nutshell::egress
