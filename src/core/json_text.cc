#include "core/json_text.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

namespace nutshell {
namespace {

// Builds the value, and stops the parser at the first thing that is refused.
template <typename Json>
class StrictBuilder : public nlohmann::json_sax<Json> {
 public:
  using Text = typename Json::string_t;

  explicit StrictBuilder(const JsonLimits& limits) : limits_(limits) {}

  Json root;
  std::string problem;

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(typename Json::number_integer_t value) override { return put(value); }
  bool number_unsigned(typename Json::number_unsigned_t value) override { return put(value); }
  bool number_float(typename Json::number_float_t value, const Text& /*text*/) override {
    return put(value);
  }
  bool string(Text& value) override { return put(std::move(value)); }
  bool binary(typename Json::binary_t& /*value*/) override { return refuse("it is binary"); }
  bool start_object(std::size_t /*size*/) override {
    keys_.emplace_back();
    return open(Json::object());
  }
  bool start_array(std::size_t /*size*/) override { return open(Json::array()); }
  bool end_object() override {
    keys_.pop_back();
    return end_array();
  }
  bool end_array() override {
    open_.pop_back();
    return true;
  }

  bool key(Text& name) override {
    auto& members = open_.back()->template get_ref<typename Json::object_t&>();
    if (members.size() >= limits_.members)
      return refuse(fmt::format("an object of the JSON has more than {} members", limits_.members));
    if (!keys_.back().insert(name).second)
      return refuse(fmt::format("the key '{}' is given twice in one object", name.substr(0, 80)));
    if constexpr (requires { members.emplace_back(name, nullptr); }) {
      slot_ = &members.emplace_back(name, nullptr).second;  // emplace() would search all members
    } else {
      slot_ = &members.emplace(name, nullptr).first->second;
    }
    return true;
  }
  bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& error) override {
    std::string why = error.what();
    if (const std::size_t end = why.find("] "); end != std::string::npos) why.erase(0, end + 2);
    return refuse("not JSON: " + why.substr(0, 200));
  }

 private:
  bool refuse(std::string why) {
    if (problem.empty()) problem = std::move(why);
    return false;
  }
  // Returns where the value stands now; nullptr if there are too many.
  Json* place(Json value) {
    if (open_.empty()) return &(root = std::move(value));
    if (++values_ > limits_.values) {
      refuse(fmt::format("the JSON has more than {} values", limits_.values));
      return nullptr;
    }
    if (open_.back()->is_object()) return &(*slot_ = std::move(value));
    return &open_.back()->template get_ref<typename Json::array_t&>().emplace_back(
        std::move(value));
  }
  bool put(Json value) { return place(std::move(value)) != nullptr; }
  bool open(Json value) {
    if (open_.size() >= limits_.depth)
      return refuse(fmt::format("the JSON is nested more than {} levels deep", limits_.depth));
    Json* placed = place(std::move(value));
    if (placed == nullptr) return false;
    open_.push_back(placed);
    return true;
  }

  JsonLimits limits_;
  std::vector<Json*> open_;  // a parent does not grow while its child is open, so these stay valid
  std::vector<std::set<std::string>> keys_;  // of the open objects
  Json* slot_ = nullptr;                     // the value of the last key
  std::size_t values_ = 0;
};

template <typename Json>
Result<Json> parse(std::string_view text, const JsonLimits& limits) {
  if (text.size() > limits.bytes) {
    return failure(ErrorCode::InvalidArgument,
                   fmt::format("the JSON is longer than {} bytes", limits.bytes));
  }
  if (text.starts_with("\xef\xbb\xbf"))
    return failure(ErrorCode::InvalidArgument, "the JSON begins with a byte order mark");
  StrictBuilder<Json> builder(limits);
  if (!Json::sax_parse(text, &builder))
    return failure(ErrorCode::InvalidArgument, std::move(builder.problem));
  return std::move(builder.root);
}

}  // namespace

Result<nlohmann::json> parse_strict(std::string_view text, const JsonLimits& limits) {
  return parse<nlohmann::json>(text, limits);
}

Result<nlohmann::ordered_json> parse_strict_ordered(std::string_view text,
                                                    const JsonLimits& limits) {
  return parse<nlohmann::ordered_json>(text, limits);
}

std::string dump_json(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string dump_json(const nlohmann::ordered_json& value) {
  return value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace nutshell
