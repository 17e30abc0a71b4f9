#include "core/daemon_access.h"

#include <fmt/format.h>

#include "base/loopback.h"

namespace nutshell {
namespace {

constexpr std::string_view kPlain = "http://";
constexpr std::string_view kSecure = "https://";

// Whether the text is HOST:PORT and nothing else.
bool is_place(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  return colon != std::string_view::npos && colon > 0 && colon + 1 < text.size() &&
         text.find_first_of("/@?# \t\r\n") == std::string_view::npos &&
         text.substr(colon + 1).find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_loopback(std::string_view place) {
  std::string_view host = place.substr(0, place.rfind(':'));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return is_loopback_host(host);
}

Result<DaemonAccess> parse_url(std::string_view text) {
  if (text.ends_with('/')) text.remove_suffix(1);
  const std::string_view place = text.substr(text.find("://") + 3);
  if (!is_place(place)) {
    return failure(ErrorCode::InvalidArgument, fmt::format("'{}' is not https://HOST:PORT", text));
  }
  if (text.starts_with(kPlain) && !is_loopback(place)) {
    return failure(ErrorCode::InvalidArgument,
                   fmt::format("'{}' would send the token in the clear: use https", text));
  }
  DaemonAccess access;
  access.url = text;
  return access;
}

}  // namespace

Result<DaemonAccess> parse_daemon_address(std::string_view text) {
  if (text.starts_with(kPlain) || text.starts_with(kSecure)) return parse_url(text);
  const std::string_view given = text;
  const bool is_named = text.starts_with("unix:");
  if (is_named) text.remove_prefix(std::string_view("unix:").size());
  const bool is_path = !text.empty() && text.find('\0') == std::string_view::npos &&
                       (is_named || text.find('/') != std::string_view::npos) &&
                       text.find("://") == std::string_view::npos;
  if (!is_path) {
    return failure(ErrorCode::InvalidArgument,
                   fmt::format("'{}' is no daemon's address: give the path of its socket, or "
                               "https://HOST:PORT",
                               given));
  }
  DaemonAccess access;
  access.socket = std::filesystem::absolute(text);
  return access;
}

std::string to_string(const DaemonAccess& access) {
  return access.socket.empty() ? access.url : access.socket.native();
}

}  // namespace nutshell
