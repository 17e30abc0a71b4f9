// Spans of distributed traces: what was done, for whom, and how long it took. They hold no
// arguments and no output.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace nutshell::telemetry {

// A place in a trace (W3C Trace Context).
struct TraceContext {
  std::array<std::uint8_t, 16> trace{};
  std::array<std::uint8_t, 8> span{};
  bool is_sampled = true;

  static TraceContext fresh();
  // Parses a `traceparent` header; nullopt if it is malformed.
  static std::optional<TraceContext> parse(std::string_view text);
  [[nodiscard]] TraceContext child() const;  // a new span of the same trace
  [[nodiscard]] std::string text() const;    // as a `traceparent`
};

std::string hexadecimal(const std::uint8_t* bytes, std::size_t size);

struct Attribute {
  std::string name;
  std::variant<std::string, std::int64_t> value;
};

struct Span {
  enum class Kind : std::uint8_t { Internal = 1, Server = 2 };  // OTLP's numbers

  TraceContext place;
  std::array<std::uint8_t, 8> parent{};  // zeros for a root span
  std::string name;
  Kind kind = Kind::Internal;
  std::chrono::system_clock::time_point begin;
  std::chrono::system_clock::time_point end;
  std::vector<Attribute> attributes;
  bool has_failed = false;
};

// Takes spans without waiting; drops those that it cannot take. Thread-safe.
class SpanSink {
 public:
  virtual ~SpanSink() = default;
  virtual void take(Span span) = 0;
};

// The current span of a thread, the parent of new ones. Without a sink no spans are made.
struct Active {
  SpanSink* sink = nullptr;
  TraceContext place;
};
// The current span of the calling thread. A request is answered by one thread from beginning to
// end.
Active active();

// Makes `work` the current span of the calling thread until the end of this object.
class ActiveScope {
 public:
  explicit ActiveScope(const Active& work);
  ActiveScope(const ActiveScope&) = delete;
  ActiveScope& operator=(const ActiveScope&) = delete;
  ~ActiveScope();

 private:
  Active before_;
};

// The span of a request, the current span of its thread until the end of this object.
class Activity {
 public:
  // Starts a new trace if `traceparent` is empty or malformed. Does nothing without a sink.
  Activity(SpanSink* sink, std::string_view traceparent, std::string name);
  Activity(const Activity&) = delete;
  Activity& operator=(const Activity&) = delete;
  ~Activity();

  void rename(std::string name) { span_.name = std::move(name); }
  void add(std::string name, std::string value);
  void add(std::string name, std::int64_t value);
  void fail() { span_.has_failed = true; }

 private:
  SpanSink* sink_;
  Active before_;
  Span span_;
};

}  // namespace nutshell::telemetry
