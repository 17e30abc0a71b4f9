// Turns a message's list of fields into bytes and back. Decoding trusts nothing: every count is
// checked against the bytes that are left before anything is allocated.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/result.h"

namespace nutshell::wire {

class Encoder {
 public:
  explicit Encoder(std::string& out) : out_(out) {}

  template <typename... Fields>
  void operator()(Fields&... fields) {
    (put(fields), ...);
  }

 private:
  template <typename T>
  void put(T& value) {
    if constexpr (std::is_enum_v<T>) {
      auto number = static_cast<std::underlying_type_t<T>>(value);
      put(number);
    } else if constexpr (std::is_integral_v<T>) {
      out_.append(reinterpret_cast<const char*>(&value), sizeof value);  // little-endian hosts only
    } else {
      value.fields(*this);
    }
  }
  void put(std::string& text) {
    auto size = static_cast<std::uint32_t>(text.size());
    put(size);
    out_ += text;
  }
  template <typename T>
  void put(std::vector<T>& list) {
    auto size = static_cast<std::uint32_t>(list.size());
    put(size);
    for (T& item : list)
      put(item);
  }

  std::string& out_;
};

class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : left_(bytes) {}

  template <typename... Fields>
  void operator()(Fields&... fields) {
    (get(fields), ...);
  }

  // All fields were there, and nothing behind them.
  [[nodiscard]] bool is_complete() const { return is_good_ && left_.empty(); }

 private:
  template <typename T>
  void get(T& value) {
    if constexpr (std::is_enum_v<T>) {
      std::underlying_type_t<T> number{};
      get(number);
      value = static_cast<T>(number);
    } else if constexpr (std::is_integral_v<T>) {
      if (left_.size() < sizeof value) return fail();
      std::memcpy(&value, left_.data(), sizeof value);
      left_.remove_prefix(sizeof value);
    } else {
      value.fields(*this);
    }
  }
  void get(std::string& text) {
    std::uint32_t size = 0;
    get(size);
    if (!is_good_ || size > left_.size()) return fail();
    text.assign(left_.data(), size);
    left_.remove_prefix(size);
  }
  template <typename T>
  void get(std::vector<T>& list) {
    std::uint32_t size = 0;
    get(size);
    // Every item takes at least one byte, so a forged count cannot make us allocate more than
    // the frame itself allows.
    if (!is_good_ || size > left_.size()) return fail();
    list.clear();
    for (std::uint32_t i = 0; i < size && is_good_; ++i)
      get(list.emplace_back());
  }
  void fail() {
    is_good_ = false;
    left_ = {};
  }

  std::string_view left_;
  bool is_good_ = true;
};

template <typename Message>
std::string encode(Message message) {
  std::string out;
  Encoder encoder(out);
  message.fields(encoder);
  return out;
}

template <typename Message>
Result<Message> decode(std::string_view bytes) {
  Message message;
  Decoder decoder(bytes);
  message.fields(decoder);
  if (!decoder.is_complete()) return failure(ErrorCode::Corrupt, "malformed message");
  return message;
}

}  // namespace nutshell::wire
