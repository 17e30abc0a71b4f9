// Writes JSON for the record. The result is valid JSON for any bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace nutshell::audit {

// Appends the text with quotes. Bytes that are not UTF-8 become U+FFFD.
void append_json(std::string& to, std::string_view text);

// Writes an object member by member.
class JsonObject {
 public:
  void add(std::string_view name, std::string_view text);
  void add_number(std::string_view name, std::uint64_t number);
  // `json` is a JSON value already.
  void add_json(std::string_view name, std::string_view json);
  [[nodiscard]] std::string text() && { return std::move(text_) + '}'; }

 private:
  void begin(std::string_view name);
  std::string text_ = "{";
};

}  // namespace nutshell::audit
