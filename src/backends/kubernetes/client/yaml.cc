#include "backends/kubernetes/client/yaml.h"

#include <fmt/format.h>
#include <yaml.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace nutshell::kubernetes {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostBytes = 4U << 20U;
constexpr std::size_t kMostDepth = 32;
constexpr std::size_t kMostValues = 100'000;

class Event {
 public:
  Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { yaml_event_delete(&event_); }

  [[nodiscard]] yaml_event_t* get() { return &event_; }

 private:
  yaml_event_t event_{};
};

class Parser {
 public:
  explicit Parser(std::string_view text) : is_ready_(yaml_parser_initialize(&parser_) == 1) {
    if (is_ready_) {
      yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()),
                                   text.size());
    }
  }
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;
  ~Parser() {
    if (is_ready_) yaml_parser_delete(&parser_);
  }

  Result<Json> document();

 private:
  // A list or map that is being read.
  struct Open {
    Json value;
    std::string key;  // of the value that comes next in a map
    bool has_key = false;
  };

  Result<> next(Event& event);
  Failure refused(std::string_view why) const;
  Result<> take(const yaml_event_t& event);
  Result<> add(Json value);
  Result<> add_scalar(const yaml_event_t& event);
  Result<> close();

  yaml_parser_t parser_{};
  bool is_ready_ = false;
  std::size_t values_ = 0;
  std::vector<Open> open_;
  Json root_;
  bool has_root_ = false;
};

Failure Parser::refused(std::string_view why) const {
  return failure(ErrorCode::InvalidArgument,
                 fmt::format("YAML, line {}: {}", parser_.mark.line + 1, why));
}

Result<> Parser::next(Event& event) {
  if (!is_ready_) return failure(ErrorCode::ResourceExhausted, "YAML: out of memory");
  if (yaml_parser_parse(&parser_, event.get()) == 1) return {};
  return refused(parser_.problem == nullptr ? "it cannot be read" : parser_.problem);
}

Result<> Parser::add(Json value) {
  if (++values_ > kMostValues) return refused("there are too many values");
  if (open_.empty()) {
    if (has_root_) return refused("there is more than one document");
    root_ = std::move(value);
    has_root_ = true;
    return {};
  }
  Open& into = open_.back();
  if (into.value.is_array()) {
    into.value.push_back(std::move(value));
    return {};
  }
  if (!into.has_key) {
    if (!value.is_string()) return refused("a key is not a text");
    into.key = value.get<std::string>();
    into.has_key = true;
    if (into.value.contains(into.key)) return refused(fmt::format("'{}' is given twice", into.key));
    return {};
  }
  into.value[into.key] = std::move(value);
  into.has_key = false;
  return {};
}

Result<> Parser::add_scalar(const yaml_event_t& event) {
  const auto& scalar = event.data.scalar;
  std::string text(reinterpret_cast<const char*>(scalar.value), scalar.length);
  const bool is_key = !open_.empty() && open_.back().value.is_object() && !open_.back().has_key;
  const bool is_plain = scalar.style == YAML_PLAIN_SCALAR_STYLE;
  const bool is_null = text.empty() || text == "~" || text == "null";
  if (is_plain && is_null && !is_key) return add(nullptr);
  return add(std::move(text));
}

Result<> Parser::close() {
  Json value = std::move(open_.back().value);
  open_.pop_back();
  return add(std::move(value));
}

Result<> Parser::take(const yaml_event_t& event) {
  switch (event.type) {
    case YAML_ALIAS_EVENT:
      return refused("aliases are not read");
    case YAML_SCALAR_EVENT:
      return add_scalar(event);
    case YAML_SEQUENCE_START_EVENT:
    case YAML_MAPPING_START_EVENT:
      if (open_.size() >= kMostDepth) return refused("it is nested too deeply");
      open_.push_back(
          {event.type == YAML_SEQUENCE_START_EVENT ? Json::array() : Json::object(), {}, false});
      return {};
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
      return close();
    default:
      return {};
  }
}

Result<Json> Parser::document() {
  for (;;) {
    Event event;
    TRY(next(event));
    if (event.get()->type == YAML_STREAM_END_EVENT || event.get()->type == YAML_NO_EVENT) break;
    TRY(take(*event.get()));
  }
  return std::move(root_);
}

}  // namespace

Result<Json> parse_yaml(std::string_view text) {
  if (text.size() > kMostBytes)
    return failure(ErrorCode::InvalidArgument, "YAML: it is longer than 4 MiB");
  return Parser(text).document();
}

}  // namespace nutshell::kubernetes
