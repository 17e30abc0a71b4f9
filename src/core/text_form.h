// Fields of nouns as people write them on the command line and in TOML: 512m, 30s, 0.5, NAME=VALUE.
// Made from the field lists (core/field.h), like the checks of their bounds.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/field.h"
#include "core/sandbox_spec.h"

namespace nutshell {

// Messages call a field by its flag, or by its name if it has no flag.
std::string_view spoken_name(const FieldInfo& info);

namespace text_form {

Result<std::int64_t> parse_number(const FieldInfo& info, std::string_view text);
Failure does_not_fit(const FieldInfo& info, std::string_view text);
Failure unknown_word(const FieldInfo& info, std::string_view text, std::string_view words);
Result<> add_pair(const FieldInfo& info, std::string_view text,
                  std::map<std::string, std::string>& to);
Result<> check_number(const FieldInfo& info, std::int64_t value, bool is_duration);
Result<> check_text(const FieldInfo& info, std::string_view text);
Result<> check_items(const FieldInfo& info, std::size_t items);

template <typename Enum>
std::string words_of() {
  std::string words;
  for (const std::string_view word : kWords<Enum>) {
    const bool is_last = word == kWords<Enum>.back();
    words += (words.empty() ? "" : is_last ? " or " : ", ") + std::string(word);
  }
  return words;
}

}  // namespace text_form

// The types of members that a flag or a setting can set.
template <typename T>
concept HasTextForm =
    std::is_enum_v<T> ||(std::is_integral_v<T> && !std::is_same_v<T, bool>) ||
    std::is_same_v<T, std::chrono::milliseconds> || std::is_same_v<T, std::string> ||
    std::is_same_v<T, std::vector<std::string>> || std::is_same_v<T, std::vector<Requirement>> ||
    std::is_same_v<T, std::map<std::string, std::string>>;

// Each sets the member, or adds to a list. Numbers that the member cannot hold are refused;
// check_bounds() checks the bounds of the field.
template <HasTextForm T>
Result<> read_text(const FieldInfo& info, std::string_view text, T& member) {
  if constexpr (std::is_enum_v<T>) {
    const auto known = from_word<T>(text);
    if (!known) return text_form::unknown_word(info, text, text_form::words_of<T>());
    member = *known;
  } else if constexpr (std::is_same_v<T, std::chrono::milliseconds>) {
    member = std::chrono::milliseconds(TRY(text_form::parse_number(info, text)));
  } else if constexpr (std::is_same_v<T, std::string>) {
    member = text;
  } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
    member.emplace_back(text);
  } else if constexpr (std::is_same_v<T, std::map<std::string, std::string>>) {
    return text_form::add_pair(info, text, member);
  } else if constexpr (std::is_same_v<T, std::vector<Requirement>>) {
    for (Requirement& one : TRY(parse_requirements(text)))
      member.push_back(std::move(one));
  } else {
    const std::int64_t number = TRY(text_form::parse_number(info, text));
    if (!std::in_range<T>(number)) return text_form::does_not_fit(info, text);
    member = static_cast<T>(number);
  }
  return {};
}

// Whether a list of nouns is written as texts, by the code that reads its flag.
template <typename T>
inline constexpr bool kIsWrittenAsTexts = true;
template <Noun T>
inline constexpr bool kIsWrittenAsTexts<std::vector<T>> =
    std::is_same_v<T, Mount> || std::is_same_v<T, UnsafeMount>;

// Calls use(info, member) for each field of the noun, and of the nouns in it, that has a flag.
template <typename T, typename Use>
void for_each_flag(T& noun, const Use& use) {
  std::remove_const_t<T>::describe(
      [&use](const FieldInfo& info, auto&& member) {
        using Member = std::remove_cvref_t<decltype(member)>;
        if constexpr (Noun<Member>) {
          for_each_flag(member, use);
        } else if constexpr (!kIsOnlyIf<Member> && !std::is_same_v<Member, bool> &&
                             kIsWrittenAsTexts<Member>) {
          if (!info.flag.empty()) use(info, member);
        }
      },
      noun);
}

// The key of a field in TOML: its name without the unit, because values there have units of their
// own: memory = "512m", ttl = "1h".
std::string setting_name(const FieldInfo& info);

// The default of a field, as people would write it; empty if it is empty or zero.
std::string default_text(const FieldInfo& info, std::int64_t value, bool is_duration);

// Refuses values outside the bounds of their fields; the message names the possible range.
class BoundsCheck {
 public:
  template <typename T>
  void operator()(const FieldInfo& info, T&& member) {
    using Value = std::remove_cvref_t<T>;
    if (!result_) return;
    if constexpr (Noun<Value>) {
      Value::describe(*this, member);
    } else if constexpr (std::is_same_v<Value, std::chrono::milliseconds>) {
      result_ = text_form::check_number(info, member.count(), true);
    } else if constexpr (std::is_integral_v<Value> && !std::is_same_v<Value, bool>) {
      const bool fits = std::in_range<std::int64_t>(member);
      result_ = text_form::check_number(info, fits ? static_cast<std::int64_t>(member) : INT64_MAX,
                                        false);
    } else if constexpr (std::is_same_v<Value, std::string>) {
      result_ = text_form::check_text(info, member);
    } else if constexpr (requires { member.size(); }) {
      result_ = text_form::check_items(info, member.size());
      if constexpr (Noun<typename Value::value_type>) {
        for (auto& one : member)
          if (result_) Value::value_type::describe(*this, one);
      }
    }
  }
  Result<> result() && { return std::move(result_); }

 private:
  Result<> result_;
};

template <Noun T>
Result<> check_bounds(const T& noun) {
  BoundsCheck check;
  T::describe(check, noun);
  return std::move(check).result();
}

}  // namespace nutshell
