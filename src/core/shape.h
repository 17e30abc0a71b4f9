// The shape of JSON objects as data. The checks of what clients send, the OpenAPI document, the
// messages of the proto and `nutshell schema` are made from it; the shapes of nouns are made from
// their field lists (core/field.h).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/field.h"
#include "core/sandbox_spec.h"

namespace nutshell {

struct Shape;

struct Field {
  enum class Type : std::uint8_t {
    Text,
    Integer,
    Number,
    Boolean,
    TextList,
    TextLists,  // a list of lists of texts
    TextMap,
    Object,
    ObjectList,
    Any,
  };
  enum class Presence : std::uint8_t { Optional, Required, Nullable };
  static constexpr std::int64_t kNoBound = INT64_MIN;

  std::string name;
  Type type = Type::Text;
  std::string help = {};
  Presence presence = Presence::Optional;
  std::function<const Shape&()> of = nullptr;  // of an Object, or each of an ObjectList
  std::int64_t least = kNoBound;
  std::int64_t most = kNoBound;
  std::vector<std::string> choices = {};
  int number = 0;  // in the proto
  std::string flag = {};
  SetBy set_by = SetBy::Anybody;
  bool is_secret = false;
  bool is_bytes = false;  // a text that need not be UTF-8: bytes in the proto
};
template <>
inline constexpr std::array<std::string_view, 10> kWords<Field::Type>{
    "text",       "integer",  "number", "boolean",     "text list",
    "text lists", "text map", "object", "object list", "any"};
template <>
inline constexpr std::array<std::string_view, 4> kWords<SetBy>{"anybody", "own socket", "nobody",
                                                               "internal"};

struct Shape {
  std::string name;  // in the OpenAPI document
  std::vector<Field> fields;

  // Returns nullptr if no field has the name.
  [[nodiscard]] const Field* find(std::string_view wanted) const {
    for (const Field& field : fields)
      if (field.name == wanted) return &field;
    return nullptr;
  }
};

template <Noun T, Direction direction>
const Shape& shape_of();

namespace detail {

class ShapeMaker {
 public:
  ShapeMaker(Shape& shape, Direction direction) : shape_(shape), direction_(direction) {}

  template <typename T>
  void operator()(const FieldInfo& info, T&& /*member*/) {
    if (info.set_by == SetBy::Internal) return;
    if (direction_ == Direction::Taken && info.set_by == SetBy::Nobody) return;
    if (direction_ == Direction::Given && info.is_secret) return;
    Field field;
    field.name = info.name;
    field.help = info.help;
    field.number = info.number;
    field.flag = info.flag;
    field.set_by = info.set_by;
    field.is_secret = info.is_secret;
    if (info.presence == Presence::Required) field.presence = Field::Presence::Required;
    field.is_bytes = info.format == Format::Output;
    set_type<std::remove_cvref_t<T>>(info, field);
    shape_.fields.push_back(std::move(field));
    if (info.format != Format::Output) return;
    shape_.fields.push_back({.name = std::string(info.name) + "_base64",
                             .help = "all bytes of it, where they are no UTF-8"});
  }

 private:
  using Texts = std::vector<std::string>;
  using Type = Field::Type;
  using Microseconds = std::chrono::microseconds;

  template <typename T>
  struct Inner {
    using type = void;
  };
  template <typename T>
  struct Inner<std::vector<T>> {
    using type = T;
  };
  template <typename T>
  struct Inner<std::optional<T>> {
    using type = T;
  };
  template <typename T>
  struct Inner<OnlyIf<T>> {
    using type = std::remove_cv_t<T>;
  };
  template <typename T>
  static constexpr bool kIsNullable =
      std::is_same_v<T, std::optional<typename Inner<T>::type>> || kIsOnlyIf<T>;

  template <typename T>
  void set_type(const FieldInfo& info, Field& field) {
    if constexpr (kIsNullable<T>) {
      set_type<typename Inner<T>::type>(info, field);
      field.presence = Field::Presence::Nullable;
    } else if constexpr (Noun<T>) {
      field.type = Type::Object;
      set_inner<T>(field);
    } else if constexpr (Noun<typename Inner<T>::type>) {
      field.type = Type::ObjectList;
      set_inner<typename Inner<T>::type>(field);
    } else if constexpr (std::is_enum_v<T>) {
      for (const std::string_view word : kWords<T>)
        field.choices.emplace_back(word);
    } else if constexpr (std::is_same_v<T, bool>) {
      field.type = Type::Boolean;
    } else if constexpr (std::is_same_v<T, Microseconds>) {  // NOLINT(bugprone-branch-clone)
      field.type = Type::Number;  // as cores, which only the format tells
    } else if constexpr (std::is_same_v<T, std::string>) {
      field.type = info.format == Format::Json ? Type::Any : Type::Text;
      if (info.most != kUnbounded) field.most = info.most;
    } else if constexpr (std::is_same_v<T, Texts> || std::is_same_v<T, std::vector<Requirement>>) {
      field.type = info.format == Format::Variables ? Type::TextMap : Type::TextList;
    } else if constexpr (std::is_same_v<T, std::vector<Texts>>) {
      field.type = Type::TextLists;
    } else if constexpr (std::is_same_v<T, std::map<std::string, std::string>>) {
      field.type = Type::TextMap;
    } else if (info.format == Format::Cores) {
      field.type = Type::Number;
    } else {
      field.type = Type::Integer;
      field.least = info.least;
      if (info.most != kUnbounded) field.most = info.most;
    }
  }
  template <typename T>
  void set_inner(Field& field) {
    field.of = direction_ == Direction::Taken ? shape_of<T, Direction::Taken>
                                              : shape_of<T, Direction::Given>;
  }

  Shape& shape_;
  Direction direction_;
};

}  // namespace detail

template <Noun T, Direction direction>
const Shape& shape_of() {
  static const Shape kMade = [] {
    Shape shape{std::string(T::kNoun.name), {}};
    T noun;
    T::describe(detail::ShapeMaker(shape, direction), noun);
    return shape;
  }();
  return kMade;
}

}  // namespace nutshell
