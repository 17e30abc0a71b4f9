// Internet addresses and ranges of them. An IPv4 address that is written as an IPv6 one
// (::ffff:1.2.3.4) is the same address, so that no rule can be passed by its other form.
#pragma once

#include <netinet/in.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace nutshell::egress {

class Address {
 public:
  Address() = default;
  // 4 or 16 bytes in network order; nullopt for any other count.
  static std::optional<Address> of_bytes(std::string_view bytes);
  // "192.0.2.1" or "2001:db8::1", without brackets, zone and port.
  static std::optional<Address> parse(std::string_view text);

  [[nodiscard]] bool is_four() const { return size_ == 4; }
  [[nodiscard]] std::string_view bytes() const {
    return {reinterpret_cast<const char*>(bytes_.data()), size_};
  }
  [[nodiscard]] std::string text() const;
  // Fills `storage`, and returns how many bytes of it are used.
  socklen_t to_socket_address(std::uint16_t port, sockaddr_storage& storage) const;

  bool operator==(const Address&) const = default;
  auto operator<=>(const Address&) const = default;  // NOLINT(modernize-use-nullptr): none is here

 private:
  std::array<std::uint8_t, 16> bytes_{};
  std::uint8_t size_ = 4;
};

// The addresses that share their first bits, such as 10.0.0.0/8.
class AddressRange {
 public:
  AddressRange(const Address& first, unsigned bits) : first_(first), bits_(bits) {}
  // An address, or an address and the number of bits. Refuses an address with bits set beyond
  // that number, because its writer meant another range.
  static Result<AddressRange> parse(std::string_view text);

  [[nodiscard]] bool contains(const Address& address) const;
  [[nodiscard]] std::string text() const;

  bool operator==(const AddressRange&) const = default;

 private:
  Address first_;
  unsigned bits_;
};

// Names the kind of an address that no name on the internet should lead to: private, loopback,
// link-local (clouds keep their metadata there), multicast, reserved, or one of these inside a
// form of IPv6 that carries an IPv4 address. Empty for an address of the public internet.
std::string_view special_kind(const Address& address);

}  // namespace nutshell::egress
