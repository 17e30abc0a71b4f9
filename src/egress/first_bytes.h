// Reads from the first bytes of a connection which server the client means: the server's name in
// TLS, or the Host of HTTP. The bytes are hostile.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace nutshell::egress {

struct FirstBytes {
  enum class Kind : std::uint8_t {
    Incomplete,  // may become any of the others with more bytes
    Tls,
    Http,
    Other,
    Malformed,  // begins as TLS or HTTP, and breaks their rules or is too long
  };
  Kind kind = Kind::Incomplete;
  std::string name;                 // as the client wrote it; empty if it named none
  bool has_encrypted_name = false;  // TLS with a second, encrypted name (ECH)

  bool operator==(const FirstBytes&) const = default;
};

// No client that means well needs more for what is read here.
inline constexpr std::size_t kMostFirstBytes = 64U << 10U;

// `bytes` is all that the client has sent so far. The name of HTTP comes without its port.
FirstBytes read_first_bytes(std::string_view bytes);

}  // namespace nutshell::egress
