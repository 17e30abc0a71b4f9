// Writes a D-Bus method call, and reads the replies to it, in little-endian form. Covers what one
// call to a service manager needs: strings, unsigned integers, booleans, arrays and structs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace nutshell::native {

// Appends values with the padding that D-Bus wants. Positions count from the start of the message
// part, which is aligned to eight bytes itself.
class DbusWriter {
 public:
  void byte(std::uint8_t value) { bytes_.push_back(static_cast<char>(value)); }
  void integer(std::uint32_t value);
  void text(std::string_view value);
  void signature(std::string_view value);
  void align(std::size_t to) { bytes_.resize((bytes_.size() + to - 1) / to * to); }

  // Returns a token for end_array(). `alignment` is that of the elements.
  struct Array {
    std::size_t length_at;
    std::size_t first_at;
  };
  Array begin_array(std::size_t alignment);
  void end_array(const Array& array);

  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  void put(std::size_t at, std::uint32_t value);
  std::string bytes_;
};

struct DbusCall {
  std::string_view path;
  std::string_view interface;
  std::string_view member;
  std::string_view signature;  // of the body
  std::string body;
};
std::string encode_call(std::uint32_t serial, const DbusCall& call);

struct DbusMessage {
  enum class Kind : std::uint8_t { Call = 1, Return = 2, Error = 3, Signal = 4 };
  Kind kind = Kind::Call;
  std::uint32_t reply_to = 0;  // the serial of the call; 0: it is no reply
  std::string error_name;
  std::string error_text;
};

inline constexpr std::size_t kMostDbusMessage = 64U << 10U;

// Takes one message from the front of `bytes`. nullopt: more bytes are needed. Fails if the bytes
// are no message, or if the message is larger than kMostDbusMessage.
Result<std::optional<DbusMessage>> take_message(std::string& bytes);

}  // namespace nutshell::native
