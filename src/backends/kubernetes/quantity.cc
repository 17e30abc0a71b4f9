#include "backends/kubernetes/quantity.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <limits>
#include <optional>

namespace nutshell::kubernetes {
namespace {

struct Unit {
  std::string_view name;
  unsigned bits = 0;  // it is 2^bits …
  int thousands = 0;  // … times 1000^thousands
};
constexpr std::array<Unit, 16> kUnits = {{{"Ki", 10},
                                          {"Mi", 20},
                                          {"Gi", 30},
                                          {"Ti", 40},
                                          {"Pi", 50},
                                          {"Ei", 60},
                                          {"n", 0, -3},
                                          {"u", 0, -2},
                                          {"m", 0, -1},
                                          {"", 0, 0},
                                          {"k", 0, 1},
                                          {"M", 0, 2},
                                          {"G", 0, 3},
                                          {"T", 0, 4},
                                          {"P", 0, 5},
                                          {"E", 0, 6}}};

// The amount is digits * 2^bits * 10^tens.
struct Amount {
  std::uint64_t digits = 0;
  unsigned bits = 0;
  int tens = 0;
};

Failure malformed(std::string_view text) {
  return failure(ErrorCode::InvalidArgument,
                 fmt::format("'{}' is no amount as Kubernetes writes it, such as 512Mi or 1500m",
                             text.substr(0, 40)));
}

bool multiply(std::uint64_t& value, std::uint64_t by) {
  return !__builtin_mul_overflow(value, by, &value);
}

// Reads the digits, and the point among them; returns the rest of the text.
std::optional<std::string_view> read_digits(std::string_view text, Amount& amount) {
  bool has_digit = false;
  bool has_point = false;
  while (!text.empty()) {
    const char letter = text.front();
    if (letter == '.' && !has_point) {
      has_point = true;
    } else if (letter >= '0' && letter <= '9') {
      has_digit = true;
      if (!multiply(amount.digits, 10)) return std::nullopt;
      if (__builtin_add_overflow(amount.digits, static_cast<std::uint64_t>(letter - '0'),
                                 &amount.digits))
        return std::nullopt;
      if (has_point) --amount.tens;
    } else {
      break;
    }
    text.remove_prefix(1);
  }
  return has_digit ? std::optional(text) : std::nullopt;
}

// Reads a unit, or an exponent such as e6. A lone E is the unit.
bool read_unit(std::string_view text, Amount& amount) {
  for (const Unit& unit : kUnits) {
    if (text != unit.name) continue;
    amount.bits = unit.bits;
    amount.tens += 3 * unit.thousands;
    return true;
  }
  if (text.size() < 2 || (text.front() != 'e' && text.front() != 'E')) return false;
  text.remove_prefix(text[1] == '+' ? 2 : 1);
  int exponent = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, exponent);
  if (error != std::errc() || stopped != end || exponent < -30 || exponent > 30) return false;
  amount.tens += exponent;
  return true;
}

// The amount times 1000^thousands, if it is a whole number that 64 bits hold.
std::optional<std::uint64_t> whole(Amount amount, int thousands) {
  amount.tens += 3 * thousands;
  // Twos and fives are taken from the digits first, so that nothing overflows on the way.
  for (; amount.tens < 0; ++amount.tens) {
    if (amount.digits % 5 != 0)
      return amount.digits == 0 ? std::optional(amount.digits) : std::nullopt;
    amount.digits /= 5;
    if (amount.bits > 0) {
      --amount.bits;
    } else if (amount.digits % 2 == 0) {
      amount.digits /= 2;
    } else {
      return std::nullopt;
    }
  }
  for (; amount.tens > 0; --amount.tens) {
    if (!multiply(amount.digits, 10)) return std::nullopt;
  }
  if (!multiply(amount.digits, 1ULL << amount.bits)) return std::nullopt;
  return amount.digits;
}

Result<Amount> parse_amount(std::string_view text) {
  Amount amount;
  const std::string_view unsigned_text = text.starts_with('+') ? text.substr(1) : text;
  const auto rest = read_digits(unsigned_text, amount);
  if (!rest || !read_unit(*rest, amount)) return malformed(text);
  return amount;
}

}  // namespace

std::string memory_quantity(std::uint64_t bytes) {
  std::string_view name;
  for (std::size_t i = 0; i < 6 && bytes != 0; ++i) {
    if (bytes % (1ULL << kUnits.at(i).bits) != 0) break;
    name = kUnits.at(i).name;
  }
  if (name.empty()) return fmt::format("{}", bytes);
  unsigned bits = 0;
  for (const Unit& unit : kUnits) {
    if (unit.name == name) bits = unit.bits;
  }
  return fmt::format("{}{}", bytes >> bits, name);
}

std::string cpu_quantity(std::uint32_t millicpus) {
  if (millicpus % 1000 == 0) return fmt::format("{}", millicpus / 1000);
  return fmt::format("{}m", millicpus);
}

Result<std::uint64_t> parse_memory_quantity(std::string_view text) {
  const Amount amount = TRY(parse_amount(text));
  if (const auto bytes = whole(amount, 0)) return *bytes;
  return failure(ErrorCode::InvalidArgument,
                 fmt::format("'{}' of memory is no whole number of bytes below 2^64{}", text,
                             text.ends_with('m') ? "; for mebibytes write Mi" : ""));
}

Result<std::uint32_t> parse_cpu_quantity(std::string_view text) {
  const Amount amount = TRY(parse_amount(text));
  const auto millicpus = whole(amount, 1);
  if (millicpus && *millicpus <= std::numeric_limits<std::uint32_t>::max())
    return static_cast<std::uint32_t>(*millicpus);
  return failure(ErrorCode::InvalidArgument,
                 fmt::format("'{}' is no whole number of thousandths of a core", text));
}

}  // namespace nutshell::kubernetes
