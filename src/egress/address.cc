#include "egress/address.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace nutshell::egress {
namespace {

constexpr std::string_view kMappedPrefix("\0\0\0\0\0\0\0\0\0\0\xff\xff", 12);

struct SpecialRange {
  std::string_view range;
  std::string_view kind;
};

// As IANA's registries of special-purpose addresses have them.
constexpr SpecialRange kSpecialRanges[] = {
    {"0.0.0.0/8", "reserved"},        {"10.0.0.0/8", "private"},
    {"100.64.0.0/10", "private"},  // of providers; some clouds keep their metadata there
    {"127.0.0.0/8", "loopback"},      {"169.254.0.0/16", "link-local"},
    {"172.16.0.0/12", "private"},     {"192.0.0.0/24", "reserved"},
    {"192.0.2.0/24", "reserved"},     {"192.88.99.0/24", "reserved"},
    {"192.168.0.0/16", "private"},    {"198.18.0.0/15", "reserved"},
    {"198.51.100.0/24", "reserved"},  {"203.0.113.0/24", "reserved"},
    {"224.0.0.0/4", "multicast"},     {"240.0.0.0/4", "reserved"},
    {"168.63.129.16/32", "metadata"},  // Azure's
    {"::1/128", "loopback"},          {"::/96", "reserved"},
    {"64:ff9b:1::/48", "private"},    {"100::/64", "reserved"},
    {"2001::/23", "reserved"},        {"2001:db8::/32", "reserved"},
    {"3fff::/20", "reserved"},        {"5f00::/16", "reserved"},
    {"fc00::/7", "private"},          {"fe80::/10", "link-local"},
    {"fec0::/10", "private"},         {"ff00::/8", "multicast"},
};

// Forms of IPv6 that carry an IPv4 address from this byte on.
struct CarryingRange {
  std::string_view range;
  std::size_t offset;
};
constexpr CarryingRange kCarryingRanges[] = {
    {"64:ff9b::/96", 12},     // NAT64
    {"2002::/16", 2},         // 6to4
    {"::ffff:0:0:0/96", 12},  // SIIT
};

AddressRange range_of(std::string_view text) {
  return *AddressRange::parse(text);  // our own constants
}

bool has_bit(std::string_view bytes, unsigned bit) {
  return ((static_cast<std::uint8_t>(bytes[bit / 8]) >> (7U - bit % 8)) & 1U) != 0;
}

}  // namespace

std::optional<Address> Address::of_bytes(std::string_view bytes) {
  if (bytes.size() == 16 && bytes.starts_with(kMappedPrefix)) bytes.remove_prefix(12);
  if (bytes.size() != 4 && bytes.size() != 16) return std::nullopt;
  Address address;
  address.size_ = static_cast<std::uint8_t>(bytes.size());
  std::memcpy(address.bytes_.data(), bytes.data(), bytes.size());
  return address;
}

std::optional<Address> Address::parse(std::string_view text) {
  const std::string whole(text);
  std::array<char, 16> bytes{};
  if (whole.size() != std::strlen(whole.c_str())) return std::nullopt;
  if (::inet_pton(AF_INET, whole.c_str(), bytes.data()) == 1) return of_bytes({bytes.data(), 4});
  if (::inet_pton(AF_INET6, whole.c_str(), bytes.data()) == 1) return of_bytes({bytes.data(), 16});
  return std::nullopt;
}

std::string Address::text() const {
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(is_four() ? AF_INET : AF_INET6, bytes_.data(), text.data(), text.size());
  return text.data();
}

socklen_t Address::to_socket_address(std::uint16_t port, sockaddr_storage& storage) const {
  storage = {};
  if (is_four()) {
    auto& four = reinterpret_cast<sockaddr_in&>(storage);
    four.sin_family = AF_INET;
    four.sin_port = htons(port);
    std::memcpy(&four.sin_addr, bytes_.data(), 4);
    return sizeof four;
  }
  auto& six = reinterpret_cast<sockaddr_in6&>(storage);
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(port);
  std::memcpy(&six.sin6_addr, bytes_.data(), 16);
  return sizeof six;
}

Result<AddressRange> AddressRange::parse(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto address = Address::parse(text.substr(0, slash));
  if (!address) {
    return failure(ErrorCode::InvalidArgument, fmt::format("'{:.80}' is not an address", text));
  }
  const auto most = static_cast<unsigned>(address->bytes().size() * 8);
  if (slash == std::string_view::npos) return AddressRange(*address, most);
  unsigned bits = 0;
  const std::string_view digits = text.substr(slash + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits);
  if (error != std::errc() || end != digits.data() + digits.size() || bits > most) {
    return failure(ErrorCode::InvalidArgument,
                   fmt::format("'{:.80}' is not a range: after the '/' comes a number of bits, 0 "
                               "to {}, as in 10.1.0.0/16",
                               text, most));
  }
  std::string first(address->bytes());
  for (unsigned bit = bits; bit < most; ++bit)
    first[bit / 8] =
        static_cast<char>(static_cast<std::uint8_t>(first[bit / 8]) & ~(1U << (7U - bit % 8)));
  const AddressRange range(*Address::of_bytes(first), bits);
  if (first == address->bytes()) return range;
  return failure(ErrorCode::InvalidArgument,
                 fmt::format("'{:.80}' has an address inside its range: did you mean {}, or the "
                             "address {} alone?",
                             text, range.text(), address->text()));
}

bool AddressRange::contains(const Address& address) const {
  if (address.is_four() != first_.is_four()) return false;
  for (unsigned bit = 0; bit < bits_; ++bit) {
    if (has_bit(address.bytes(), bit) != has_bit(first_.bytes(), bit)) return false;
  }
  return true;
}

std::string AddressRange::text() const {
  if (bits_ == first_.bytes().size() * 8) return first_.text();
  return fmt::format("{}/{}", first_.text(), bits_);
}

std::string_view special_kind(const Address& address) {
  for (const CarryingRange& carrying : kCarryingRanges) {
    if (!range_of(carrying.range).contains(address)) continue;
    const auto inner = Address::of_bytes(address.bytes().substr(carrying.offset, 4));
    return special_kind(*inner);
  }
  for (const SpecialRange& special : kSpecialRanges) {
    if (range_of(special.range).contains(address)) return special.kind;
  }
  if (!address.is_four() && !range_of("2000::/3").contains(address)) return "reserved";
  return {};
}

}  // namespace nutshell::egress
