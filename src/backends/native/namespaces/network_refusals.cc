#include "backends/native/namespaces/network_refusals.h"

#include <fmt/format.h>

#include <charconv>

#include "base/file.h"

namespace nutshell::native {
namespace {

std::string_view take_until(std::string_view& text, std::string_view marks) {
  const std::size_t end = text.find_first_of(marks);
  const std::string_view piece = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return piece;
}

std::optional<std::uint64_t> parse(std::string_view word) {
  std::uint64_t number = 0;
  const char* const end = word.data() + word.size();
  const auto [after, error] = std::from_chars(word.data(), end, number);
  return error == std::errc() && after == end ? std::optional(number) : std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> no_routes_of_four(std::string_view text) {
  constexpr std::string_view kKind = "Ip: ";
  while (!text.empty()) {
    std::string_view names = take_until(text, "\n");
    if (!names.starts_with(kKind)) continue;
    std::string_view numbers = take_until(text, "\n");
    if (!numbers.starts_with(kKind)) return std::nullopt;
    while (!names.empty() && !numbers.empty()) {
      const std::string_view number = take_until(numbers, " ");
      if (take_until(names, " ") == "OutNoRoutes") return parse(number);
    }
    return std::nullopt;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> no_routes_of_six(std::string_view text) {
  while (!text.empty()) {
    std::string_view line = take_until(text, "\n");
    if (take_until(line, " \t") != "Ip6OutNoRoutes") continue;
    const std::size_t start = line.find_first_not_of(" \t");
    return start == std::string_view::npos ? std::nullopt : parse(line.substr(start));
  }
  return std::nullopt;
}

std::optional<std::uint64_t> count_unreachable(pid_t process) {
  const auto four = read_file(fmt::format("/proc/{}/net/snmp", process));
  if (!four) return std::nullopt;
  const auto counted = no_routes_of_four(*four);
  // A kernel without IPv6 has no such file.
  const auto six = read_file(fmt::format("/proc/{}/net/snmp6", process));
  if (!counted) return std::nullopt;
  return *counted + (six ? no_routes_of_six(*six).value_or(0) : 0);
}

}  // namespace nutshell::native
