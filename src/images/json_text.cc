#include "images/json_text.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <vector>

namespace nutshell::images {
namespace {

constexpr int kMostDepth = 32;

}  // namespace

Result<Json> parse_json(std::string_view text, std::size_t most_bytes) {
  if (text.size() > most_bytes) {
    return failure(ErrorCode::ResourceExhausted,
                   fmt::format("its JSON is longer than {} bytes", most_bytes));
  }
  bool is_too_deep = false;
  bool has_member_twice = false;
  std::vector<std::set<std::string>> open;
  const auto look = [&](int depth, Json::parse_event_t event, const Json& value) {
    if (event == Json::parse_event_t::object_start) open.emplace_back();
    if (event == Json::parse_event_t::object_end) open.pop_back();
    if (event == Json::parse_event_t::key && !open.back().insert(value.get<std::string>()).second)
      has_member_twice = true;
    is_too_deep = is_too_deep || depth > kMostDepth;
    return !is_too_deep;
  };
  Json document = Json::parse(text.begin(), text.end(), look, /*allow_exceptions=*/false);
  if (is_too_deep) return failure(ErrorCode::InvalidArgument, "its JSON is nested too deeply");
  if (has_member_twice)
    return failure(ErrorCode::InvalidArgument, "its JSON has a member twice in one object");
  if (document.is_discarded()) return failure(ErrorCode::InvalidArgument, "it is no JSON");
  return document;
}

std::uint64_t count_of(const Json& object, const char* name) {
  const Json* value = member(object, name);
  return value != nullptr && value->is_number_unsigned() ? value->get<std::uint64_t>() : 0;
}

}  // namespace nutshell::images
