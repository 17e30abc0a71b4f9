// Reads JSON into a flat tree. Accepts what programs print: any number of values one after the
// other, duplicate keys, invalid UTF-8 inside strings, a text that ends early. Linear time, no
// recursion.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nutshell {

enum class JsonKind : std::uint8_t { Null, Bool, Number, String, Array, Object };

// A value in the order of the text. The members of an object and the elements of an array follow
// it; `next` is the index behind the last of them.
struct JsonNode {
  std::uint32_t begin = 0;  // of its text, with quotes or brackets
  std::uint32_t end = 0;
  std::uint32_t key_begin = 0;  // of the key, without quotes; equal to key_end in arrays
  std::uint32_t key_end = 0;
  std::uint32_t next = 0;
  std::uint32_t children = 0;
  JsonKind kind = JsonKind::Null;
};

struct JsonTree {
  std::vector<JsonNode> nodes;
  bool is_complete = true;  // false if the text ended inside the value

  [[nodiscard]] bool is_container(std::size_t node) const {
    return nodes[node].kind == JsonKind::Array || nodes[node].kind == JsonKind::Object;
  }
};

class JsonReader {
 public:
  static constexpr std::size_t kMostDepth = 1000;
  static constexpr std::size_t kMostNodes = 4U << 20U;

  // Positions in a tree are 32 bits wide: at most 4 GiB of `text` are read.
  explicit JsonReader(std::string_view text) : text_(text) {}

  // Reads the value that begins at `at`, behind blanks, and appends it to `tree`. Returns the
  // position behind it, or nullopt if this is no JSON; `failed_at` then says how far it was read. A
  // value that is cut off by the end of the text is read if `accepts_cut`.
  std::optional<std::size_t> read(std::size_t at, JsonTree& tree, bool accepts_cut = false);

  [[nodiscard]] std::size_t failed_at() const { return at_; }

 private:
  bool read_value(JsonTree& tree);
  bool read_key(JsonNode& node);
  bool open(JsonTree& tree, JsonNode node);
  void close(JsonTree& tree);
  bool skip_string();
  bool skip_word();
  void skip_blanks();

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<std::uint32_t> open_;  // containers that are being read
};

// The text of a string as written with its quotes, without them and without escapes; other values,
// and strings that have no quotes because no JSON holds them, as they are.
std::string json_text(std::string_view raw, JsonKind kind);
std::string_view json_raw(std::string_view text, const JsonNode& node);
std::string_view json_key(std::string_view text, const JsonNode& node);  // as written
std::string json_key_text(std::string_view text, const JsonNode& node);  // without escapes

}  // namespace nutshell
