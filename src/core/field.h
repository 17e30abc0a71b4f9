// The field list of a noun. A noun is a plain struct of this folder (Limits, SandboxSpec, …) with
//
//   static constexpr NounInfo kNoun{"Limits", "How much a sandbox may use."};
//   static void describe(auto&& field, auto& limits) {
//     field({.number = 1, .name = "memory_bytes", .help = "…"}, limits.memory_bytes);
//     …
//   }
//
// describe() calls `field` once for each member. Every form of a noun is made by a visitor over
// that list, so a new field is written down here and nowhere else: bytes (wire/codec.h), JSON in
// answers, labels and the state file (core/json_form.h), the OpenAPI document and the proto
// (core/shape.h), flags and settings (core/text_form.h).
#pragma once

#include <array>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace nutshell {

// How a value is written where people or other programs read it.
enum class Format : std::uint8_t {
  Plain,      // as its type says
  Bytes,      // a number; "512m" on the command line
  Cores,      // thousandths of a core; 0.5 outside
  Variables,  // NAME=VALUE texts; an object {NAME: VALUE} in JSON
  Json,       // a text that holds JSON; the value itself in JSON
  Output,     // bytes of a command; JSON has NAME_base64 too if they are not UTF-8
};

enum class SetBy : std::uint8_t {
  Anybody,
  OwnSocket,  // it names files of the host: the command line, and callers on the daemon's own
              // socket
  Nobody,     // Nutshell finds it out; callers only read it
  Internal,   // one part of Nutshell tells it another; callers neither read nor set it
};

enum class Presence : std::uint8_t {
  Always,    // JSON always has it; a request may leave it out
  Required,  // a request without it is refused
  IfSet,     // JSON has it only where it is not empty, zero or false
};

// A bound is the value of a number, the bytes of a text, or the items of a list.
inline constexpr std::int64_t kUnbounded = INT64_MAX;

struct FieldInfo {
  int number = 0;              // in the proto; never changes and is never used for another field
  std::string_view name = {};  // in JSON, the proto and the state file
  std::string_view help = {};  // one line
  Format format = Format::Plain;
  std::int64_t least = 0;
  std::int64_t most = kUnbounded;
  std::string_view example = {};  // a good value, for the message about a bad one
  std::string_view flag = {};     // on the command line, and in TOML with _ for -; empty: no flag
  SetBy set_by = SetBy::Anybody;
  Presence presence = Presence::Always;
  bool is_secret = false;  // its value is never printed, and never in an answer
};

// Callers send nouns that are Taken, Nutshell sends nouns that are Given. A taken noun has no
// fields that callers cannot set, a given one has no secrets.
enum class Direction : std::uint8_t { Taken, Given };

struct NounInfo {
  std::string_view name;
  std::string_view help;
  Direction direction = Direction::Taken;
};

template <typename T>
concept Noun = requires {
  std::remove_cv_t<T>::kNoun;
};

// The words of an enumeration in the order of its enumerators, which count from zero.
template <typename Enum>
inline constexpr std::array<std::string_view, 0> kWords{};

template <typename Enum>
requires std::is_enum_v<Enum>
constexpr std::string_view word_for(Enum value) {
  const auto index = static_cast<std::size_t>(value);
  constexpr auto kAll = kWords<Enum>;
  if (index < kAll.size()) return kAll[index];
  return "?";
}

template <typename Enum>
constexpr std::optional<Enum> from_word(std::string_view word) {
  constexpr auto kAll = kWords<Enum>;
  for (std::size_t i = 0; i < kAll.size(); ++i) {
    if (kAll[i] == word) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

template <typename Enum>
constexpr bool is_enumerator(Enum value) {
  constexpr auto kAll = kWords<Enum>;
  return static_cast<std::size_t>(value) < kAll.size();
}

// A member that is meaningful only under a condition; JSON has null otherwise.
template <typename T>
struct OnlyIf {
  T& value;
  bool is_meant = false;
};
template <typename T>
OnlyIf(T&, bool) -> OnlyIf<T>;
template <typename T>
inline constexpr bool kIsOnlyIf = false;
template <typename T>
inline constexpr bool kIsOnlyIf<OnlyIf<T>> = true;

// Lists the fields of a member that is a noun as fields of the noun around it.
void describe_embedded(auto&& field, auto& noun) {
  std::remove_cvref_t<decltype(noun)>::describe(field, noun);
}

inline constexpr std::int64_t kKiB = 1LL << 10U;
inline constexpr std::int64_t kMiB = 1LL << 20U;
inline constexpr std::int64_t kPiB = 1LL << 50U;
inline constexpr std::int64_t kYearMs = 365LL * 24 * 3600 * 1000;
inline constexpr std::int64_t kMostPathBytes = 4096;
inline constexpr std::int64_t kMostNameBytes = 128;

}  // namespace nutshell
