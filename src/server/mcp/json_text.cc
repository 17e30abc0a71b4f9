#include "server/mcp/json_text.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

namespace nutshell::mcp {
namespace {

// Builds the value and refuses at the first thing that two readers could understand differently.
class StrictBuilder : public nlohmann::json_sax<Json> {
 public:
  Json root;
  std::string problem;

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t& /*text*/) override { return put(value); }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t& /*value*/) override { return refuse("binary values do not exist here"); }
  bool start_object(std::size_t /*size*/) override { return open(Json::object()); }
  bool start_array(std::size_t /*size*/) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    const auto [place, is_new] = open_.back()->get_ref<Json::object_t&>().emplace(name, nullptr);
    if (!is_new)
      return refuse(fmt::format("the key {} is given twice", json_string(name.substr(0, 80))));
    slot_ = &place->second;
    return true;
  }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& error) override {
    std::string why = error.what();
    if (const std::size_t end = why.find("] "); end != std::string::npos) why.erase(0, end + 2);
    return refuse(fmt::format("at byte {}: {}", position, why.substr(0, 200)));
  }

 private:
  bool refuse(std::string why) {
    if (problem.empty()) problem = std::move(why);
    return false;
  }
  Json* place(Json value) {
    if (++values_ > kMostValues) {
      refuse(fmt::format("more than {} values", kMostValues));
      return nullptr;
    }
    if (open_.empty()) return &(root = std::move(value));
    if (open_.back()->is_object()) return &(*slot_ = std::move(value));
    return &open_.back()->get_ref<Json::array_t&>().emplace_back(std::move(value));
  }
  bool put(Json value) { return place(std::move(value)) != nullptr; }
  bool open(Json value) {
    if (open_.size() >= kMostDepth) return refuse(fmt::format("more than {} levels", kMostDepth));
    Json* placed = place(std::move(value));
    if (placed == nullptr) return false;
    open_.push_back(placed);
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  // A parent does not grow while a child of it is open, so these stay where they are.
  std::vector<Json*> open_;
  Json* slot_ = nullptr;
  std::size_t values_ = 0;
};

}  // namespace

Result<Json> parse_strict(std::string_view text) {
  if (text.size() > kMostMessageBytes) {
    return failure(ErrorCode::InvalidArgument,
                   fmt::format("the message is larger than {} bytes", kMostMessageBytes));
  }
  if (text.starts_with("\xef\xbb\xbf"))
    return failure(ErrorCode::InvalidArgument, "it begins with a byte order mark");
  StrictBuilder builder;
  if (!Json::sax_parse(text, &builder))
    return failure(ErrorCode::InvalidArgument, std::move(builder.problem));
  return std::move(builder.root);
}

std::string dumped(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string json_string(std::string_view text) {
  return dumped(Json(text));
}

std::string with_fields(std::string_view object, std::string_view fields) {
  if (fields.empty()) return std::string(object);
  std::string text;
  text.reserve(object.size() + fields.size() + 1);
  text.append(object.substr(0, object.size() - 1));
  if (text.size() > 1) text += ',';
  text.append(fields);
  text += '}';
  return text;
}

}  // namespace nutshell::mcp
