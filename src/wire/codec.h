// Turns the field list of a message, and of the nouns of `core` in it (core/field.h), into bytes
// and back. Decoding trusts nothing: every count is checked against the bytes that are left before
// anything is allocated, and an enumerator that a noun does not have is refused.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/result.h"
#include "core/field.h"

namespace nutshell::wire {

class Encoder {
 public:
  explicit Encoder(std::string& out) : out_(out) {}

  template <typename... Fields>
  void operator()(Fields&... fields) {
    (put(fields), ...);
  }

 private:
  // A noun's fields follow each other in the order of its list; their numbers are not sent.
  struct Members {
    Encoder& encoder;
    void operator()(const FieldInfo& /*info*/, auto&& member) { encoder.put(member); }
  };

  template <typename T>
  void put(T& value) {
    if constexpr (Noun<T>) {
      T::describe(Members{*this}, value);
    } else if constexpr (std::is_enum_v<T>) {
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
  void put(std::map<std::string, std::string>& map) {
    auto size = static_cast<std::uint32_t>(map.size());
    put(size);
    for (const auto& [name, text] : map) {
      std::string key = name;
      std::string value = text;
      put(key);
      put(value);
    }
  }
  template <typename Period>
  void put(std::chrono::duration<std::int64_t, Period>& duration) {
    auto count = duration.count();
    put(count);
  }
  void put(std::chrono::system_clock::time_point& when) {
    auto since = when.time_since_epoch();
    put(since);
  }
  template <typename T>
  void put(std::optional<T>& value) {
    std::uint8_t is_there = value ? 1 : 0;
    put(is_there);
    if (value) put(*value);
  }
  template <typename T>
  void put(OnlyIf<T>& member) {
    put(member.value);
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

  // Whether all fields were there, and nothing behind them.
  [[nodiscard]] bool is_complete() const { return is_good_ && left_.empty(); }

 private:
  struct Members {
    Decoder& decoder;
    void operator()(const FieldInfo& /*info*/, auto&& member) { decoder.get(member); }
  };

  template <typename T>
  void get(T& value) {
    if constexpr (Noun<T>) {
      T::describe(Members{*this}, value);
    } else if constexpr (std::is_enum_v<T>) {
      std::underlying_type_t<T> number{};
      get(number);
      if constexpr (std::is_same_v<T, ErrorCode>) {
        value = to_error_code(number);  // a newer init may know more of them
        return;
      }
      value = static_cast<T>(number);
      if (!kWords<T>.empty() && !is_enumerator(value)) fail();
    } else if constexpr (std::is_same_v<T, bool>) {
      std::uint8_t byte = 0;
      get(byte);
      if (byte > 1) return fail();
      value = byte == 1;
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
  void get(std::map<std::string, std::string>& map) {
    std::uint32_t size = 0;
    get(size);
    map.clear();
    for (std::uint32_t i = 0; i < size && is_good_; ++i) {
      std::string name;
      std::string value;
      get(name);
      get(value);
      map.insert_or_assign(std::move(name), std::move(value));
    }
  }
  // No noun has a negative time.
  template <typename Period>
  void get(std::chrono::duration<std::int64_t, Period>& duration) {
    std::int64_t count = 0;
    get(count);
    if (count < 0) return fail();
    duration = std::chrono::duration<std::int64_t, Period>(count);
  }
  void get(std::chrono::system_clock::time_point& when) {
    std::chrono::system_clock::duration since{0};
    get(since);
    when = std::chrono::system_clock::time_point(since);
  }
  template <typename T>
  void get(std::optional<T>& value) {
    bool is_there = false;
    get(is_there);
    value.reset();
    if (is_there && is_good_) get(value.emplace());
  }
  template <typename T>
  void get(OnlyIf<T>& member) {
    get(member.value);
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
  encoder(message);
  return out;
}

template <typename Message>
Result<Message> decode(std::string_view bytes) {
  Message message;
  Decoder decoder(bytes);
  decoder(message);
  if (!decoder.is_complete()) return failure(ErrorCode::Corrupt, "malformed message");
  return message;
}

}  // namespace nutshell::wire
