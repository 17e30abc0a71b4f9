#include "base/byte_size.h"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

namespace nutshell {
namespace {

struct Quantity {
  double number = 0;
  std::string unit;
};

Result<Quantity> split(std::string_view text, std::string_view example) {
  const auto bad = [&] {
    return failure(ErrorCode::InvalidArgument, fmt::format("'{}' is not {}", text, example));
  };
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0])) == 0) return bad();
  Quantity quantity;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), quantity.number,
                                            std::chars_format::fixed);
  if (error != std::errc()) return bad();
  for (const char* c = end; c != text.data() + text.size(); ++c) {
    quantity.unit += static_cast<char>(std::tolower(static_cast<unsigned char>(*c)));
  }
  return quantity;
}

}  // namespace

Result<std::uint64_t> parse_byte_size(std::string_view text) {
  constexpr std::string_view kExample = "a size like 512m, 1.5g or 65536";
  Quantity quantity = TRY(split(text, kExample));
  std::string& unit = quantity.unit;
  if (unit.ends_with("ib")) unit.resize(unit.size() - 2);
  if (unit.size() == 2 && unit.ends_with("b")) unit.resize(1);
  constexpr std::string_view kUnits = "bkmgtp";
  const std::size_t power = unit.empty() ? 0 : kUnits.find(unit);
  if (unit.size() > 1 || power == std::string_view::npos) {
    return failure(ErrorCode::InvalidArgument, fmt::format("'{}' is not {}", text, kExample));
  }
  const double bytes = quantity.number * std::pow(1024.0, static_cast<double>(power));
  if (!(bytes < 9.2e18)) {
    return failure(ErrorCode::InvalidArgument, fmt::format("'{}' is too large a size", text));
  }
  return static_cast<std::uint64_t>(bytes);
}

std::string format_byte_size(std::uint64_t bytes) {
  constexpr std::array<const char*, 6> kUnits = {"", "k", "m", "g", "t", "p"};
  std::size_t unit = 0;
  while (unit + 1 < kUnits.size() && bytes >= 1024 && bytes % 1024 == 0) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{}{}", bytes, kUnits[unit]);
}

Result<std::chrono::milliseconds> parse_duration(std::string_view text) {
  constexpr std::string_view kExample = "a duration like 30s, 500ms, 5m or 2h";
  const Quantity quantity = TRY(split(text, kExample));
  double milliseconds = 0;
  if (quantity.unit.empty() || quantity.unit == "s") {
    milliseconds = 1000;
  } else if (quantity.unit == "ms") {
    milliseconds = 1;
  } else if (quantity.unit == "m") {
    milliseconds = 60'000;
  } else if (quantity.unit == "h") {
    milliseconds = 3'600'000;
  } else if (quantity.unit == "d") {
    milliseconds = 86'400'000;
  } else {
    return failure(ErrorCode::InvalidArgument, fmt::format("'{}' is not {}", text, kExample));
  }
  const double total = quantity.number * milliseconds;
  if (!(total < 9.2e15)) {
    return failure(ErrorCode::InvalidArgument, fmt::format("'{}' is too long a duration", text));
  }
  return std::chrono::milliseconds(static_cast<std::int64_t>(total));
}

std::string format_duration(std::chrono::milliseconds duration) {
  const auto count = duration.count();
  if (count % 1000 != 0) return fmt::format("{}ms", count);
  const auto seconds = count / 1000;
  if (seconds != 0 && seconds % 86400 == 0) return fmt::format("{}d", seconds / 86400);
  if (seconds != 0 && seconds % 3600 == 0) return fmt::format("{}h", seconds / 3600);
  return fmt::format("{}s", seconds);
}

}  // namespace nutshell
