// Gives every field of a noun a random value that it may have, the same for the same seed.
#pragma once

#include <random>

#include "core/field.h"
#include "core/sandbox_spec.h"

namespace nutshell {

class RandomValues {
 public:
  explicit RandomValues(std::uint32_t seed) : random_(seed) {}

  template <typename T>
  void operator()(const FieldInfo& info, T&& member) {
    set(info, member);
  }

 private:
  using Texts = std::vector<std::string>;

  std::uint64_t below(std::uint64_t most) { return random_() % most; }
  std::string word() {
    static const Texts kPieces = {"a",  "Z",  "0", "_",  "\"", "\\",
                                  "\n", "\t", "ü", "語", "😀",  "\x7f"};
    std::string text;
    for (std::uint64_t i = below(6); i > 0; --i)
      text += kPieces[below(kPieces.size())];
    return text;
  }
  std::string name() { return "N" + std::to_string(below(1'000'000)); }

  template <typename T>
  void set(const FieldInfo& info, T& member) {
    if constexpr (Noun<T>) {
      T::describe(*this, member);
    } else if constexpr (std::is_enum_v<T>) {
      member = static_cast<T>(below(kWords<T>.size()));
    } else if constexpr (std::is_same_v<T, bool>) {
      member = below(2) == 1;
    } else {
      static_assert(std::is_integral_v<T>);
      // Numbers beyond 2^53 lose digits in JSON.
      const std::uint64_t most = sizeof(T) < 4 ? 9 : (sizeof(T) == 4 ? 1U << 30U : 1ULL << 53U);
      member = static_cast<T>(below(info.format == Format::Cores ? 1'000'000 : most));
      if (info.least == INT64_MIN && below(2) == 1) member = static_cast<T>(-member);
    }
  }
  void set(const FieldInfo& info, std::string& text) {
    text = info.format == Format::Json ? R"({"a":[1,"x"]})" : word();
  }
  void set(const FieldInfo& /*info*/, std::chrono::milliseconds& time) {
    time = std::chrono::milliseconds(below(1ULL << 40U));
  }
  void set(const FieldInfo& /*info*/, std::chrono::microseconds& time) {
    time = std::chrono::microseconds(below(1ULL << 40U));
  }
  void set(const FieldInfo& /*info*/, std::chrono::system_clock::time_point& when) {
    when = std::chrono::system_clock::time_point(std::chrono::milliseconds(below(1ULL << 40U)));
  }
  void set(const FieldInfo& info, Texts& texts) {
    texts.clear();
    for (std::uint64_t i = below(4); i > 0; --i)
      texts.push_back(info.format == Format::Variables ? name() + std::to_string(i) + "=" + word()
                                                       : word());
  }
  void set(const FieldInfo& info, std::vector<Texts>& lists) {
    lists.resize(below(3));
    for (Texts& list : lists)
      set(info, list);
  }
  void set(const FieldInfo& /*info*/, std::map<std::string, std::string>& map) {
    map.clear();
    for (std::uint64_t i = below(4); i > 0; --i)
      map[name()] = word();
  }
  void set(const FieldInfo& /*info*/, std::vector<Requirement>& list) {
    list.clear();
    for (std::uint64_t i = below(4); i > 0; --i)
      list.push_back({name(), below(2) == 1});
  }
  template <Noun T>
  void set(const FieldInfo& /*info*/, std::vector<T>& list) {
    list.resize(below(3));
    for (T& one : list)
      T::describe(*this, one);
  }
  template <typename T>
  void set(const FieldInfo& info, std::optional<T>& value) {
    value.reset();
    if (below(2) == 1) set(info, value.emplace());
  }
  template <typename T>
  void set(const FieldInfo& info, OnlyIf<T>& member) {
    set(info, member.value);
  }

  std::mt19937_64 random_;
};

template <Noun T>
T random_noun(std::uint32_t seed) {
  T noun;
  T::describe(RandomValues(seed), noun);
  return noun;
}

}  // namespace nutshell
