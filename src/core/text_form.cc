#include "core/text_form.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "base/byte_size.h"

namespace nutshell {
namespace {

// A field like "timeout_ms" is a duration even without a flag.
bool is_duration_name(const FieldInfo& info) {
  return info.name.ends_with("_ms");
}

std::string text_of(const FieldInfo& info, std::int64_t value, bool is_duration) {
  if (is_duration) return format_duration(std::chrono::milliseconds(value));
  if (info.format == Format::Bytes) return format_byte_size(static_cast<std::uint64_t>(value));
  if (info.format == Format::Cores) return fmt::format("{}", static_cast<double>(value) / 1000.0);
  return std::to_string(value);
}

Failure wrong(const FieldInfo& info, std::string_view text, std::string_view wanted) {
  return failure(ErrorCode::InvalidArgument,
                 fmt::format("'{:.80}' is not {}{}{}", text, wanted,
                             info.example.empty() ? "" : " like ", info.example));
}

}  // namespace

std::string_view spoken_name(const FieldInfo& info) {
  return info.flag.empty() ? info.name : info.flag;
}

std::string setting_name(const FieldInfo& info) {
  std::string_view name = info.name;
  for (const std::string_view unit : {"_bytes", "_ms"}) {
    if (name.ends_with(unit)) name.remove_suffix(unit.size());
  }
  return std::string(name);
}

std::string default_text(const FieldInfo& info, std::int64_t value, bool is_duration) {
  return value == 0 ? std::string() : text_of(info, value, is_duration);
}

namespace text_form {

Result<std::int64_t> parse_number(const FieldInfo& info, std::string_view text) {
  if (is_duration_name(info)) return TRY(parse_duration(text)).count();
  if (info.format == Format::Bytes) {
    const std::uint64_t bytes = TRY(parse_byte_size(text));
    return static_cast<std::int64_t>(std::min<std::uint64_t>(bytes, INT64_MAX));
  }
  const char* const end = text.data() + text.size();
  if (info.format == Format::Cores) {
    double cores = 0;
    const auto [stopped, error] =
        std::from_chars(text.data(), end, cores, std::chars_format::fixed);
    constexpr double kMostCores = 1'000'000;
    if (error != std::errc() || stopped != end || !(cores > 0) || cores > kMostCores)
      return wrong(info, text, "a number of cores");
    return std::llround(cores * 1000);
  }
  std::int64_t number = 0;
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stopped != end) return wrong(info, text, "a whole number");
  return number;
}

Failure does_not_fit(const FieldInfo& info, std::string_view text) {
  return failure(ErrorCode::InvalidArgument,
                 fmt::format("'{:.80}' is out of range{}{}", text,
                             info.example.empty() ? "" : ": give a number like ", info.example));
}

Failure unknown_word(const FieldInfo& /*info*/, std::string_view text, std::string_view words) {
  return failure(ErrorCode::InvalidArgument, fmt::format("'{:.80}' is not {}", text, words));
}

Result<> add_pair(const FieldInfo& /*info*/, std::string_view text,
                  std::map<std::string, std::string>& to) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) {
    return failure(ErrorCode::InvalidArgument, fmt::format("'{:.80}' is not NAME=VALUE", text));
  }
  to[std::string(text.substr(0, equals))] = text.substr(equals + 1);
  return {};
}

Result<> check_number(const FieldInfo& info, std::int64_t value, bool is_duration) {
  if (value >= info.least && value <= info.most) return {};
  const std::string range = info.most == kUnbounded
                                ? fmt::format("{} or more", text_of(info, info.least, is_duration))
                                : fmt::format("{} to {}", text_of(info, info.least, is_duration),
                                              text_of(info, info.most, is_duration));
  return failure(ErrorCode::InvalidArgument,
                 fmt::format("{} {} is out of range: give {}{}{}", spoken_name(info),
                             text_of(info, value, is_duration), range,
                             info.example.empty() ? "" : ", for example ", info.example));
}

Result<> check_text(const FieldInfo& info, std::string_view text) {
  if (text.find('\0') != std::string_view::npos) {
    return failure(ErrorCode::InvalidArgument,
                   fmt::format("{} contains a NUL byte", spoken_name(info)));
  }
  if (info.most == kUnbounded || text.size() <= static_cast<std::size_t>(info.most)) return {};
  return failure(ErrorCode::InvalidArgument,
                 fmt::format("{} has more than {} bytes", spoken_name(info), info.most));
}

Result<> check_items(const FieldInfo& info, std::size_t items) {
  if (info.most == kUnbounded || items <= static_cast<std::size_t>(info.most)) return {};
  return failure(ErrorCode::InvalidArgument,
                 fmt::format("{} is given more than {} times", spoken_name(info), info.most));
}

}  // namespace text_form
}  // namespace nutshell
