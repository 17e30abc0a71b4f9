// Writes JSON for the record: fast, and valid whatever bytes it is given.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace nutshell::audit {

// With its quotes. Bytes that are no UTF-8 become U+FFFD.
void append_json(std::string& to, std::string_view text);

// An object, member by member.
class JsonObject {
 public:
  void add(std::string_view name, std::string_view text);
  void add_number(std::string_view name, std::uint64_t number);
  // Already JSON.
  void add_json(std::string_view name, std::string_view json);
  [[nodiscard]] std::string text() && { return std::move(text_) + '}'; }

 private:
  void begin(std::string_view name);
  std::string text_ = "{";
};

}  // namespace nutshell::audit
