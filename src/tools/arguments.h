// The checked arguments of a tool call: every value has the type of its parameter.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace nutshell {

class Arguments {
 public:
  using Value = std::variant<bool, std::int64_t, std::string, std::vector<std::string>,
                             std::vector<Arguments>>;

  void set(std::string name, Value value) { values_[std::move(name)] = std::move(value); }
  [[nodiscard]] bool has(std::string_view name) const { return find(name) != nullptr; }

  // The value that was given; `otherwise` if there is none or it has another type.
  [[nodiscard]] std::string text(std::string_view name, std::string_view otherwise = {}) const {
    const auto* value = get<std::string>(name);
    return value != nullptr ? *value : std::string(otherwise);
  }
  [[nodiscard]] const std::string* text_if(std::string_view name) const {
    return get<std::string>(name);
  }
  [[nodiscard]] std::int64_t integer(std::string_view name, std::int64_t otherwise) const {
    const auto* value = get<std::int64_t>(name);
    return value != nullptr ? *value : otherwise;
  }
  [[nodiscard]] bool is_set(std::string_view name) const {
    const auto* value = get<bool>(name);
    return value != nullptr && *value;
  }
  [[nodiscard]] std::vector<std::string> texts(std::string_view name) const {
    const auto* value = get<std::vector<std::string>>(name);
    return value != nullptr ? *value : std::vector<std::string>{};
  }
  [[nodiscard]] std::vector<Arguments> objects(std::string_view name) const {
    const auto* value = get<std::vector<Arguments>>(name);
    return value != nullptr ? *value : std::vector<Arguments>{};
  }

 private:
  [[nodiscard]] const Value* find(std::string_view name) const {
    const auto found = values_.find(name);
    return found != values_.end() ? &found->second : nullptr;
  }
  template <typename T>
  [[nodiscard]] const T* get(std::string_view name) const {
    const Value* value = find(name);
    return value != nullptr ? std::get_if<T>(value) : nullptr;
  }

  std::map<std::string, Value, std::less<>> values_;
};

}  // namespace nutshell
