// Spans of distributed traces: what was done, for whom, how long it took. They say nothing of what
// was said: no arguments, no output, no secrets.
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
  // Of a `traceparent`; nothing: it is none.
  static std::optional<TraceContext> parse(std::string_view text);
  [[nodiscard]] TraceContext child() const;  // the same trace, a span of its own
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
  std::array<std::uint8_t, 8> parent{};  // zeros: none
  std::string name;
  Kind kind = Kind::Internal;
  std::chrono::system_clock::time_point begin;
  std::chrono::system_clock::time_point end;
  std::vector<Attribute> attributes;
  bool has_failed = false;
};

// Where spans go. Never waits: what cannot be taken is dropped. Thread-safe.
class SpanSink {
 public:
  virtual ~SpanSink() = default;
  virtual void take(Span span) = 0;
};

// What a thread is at work on, for spans of its parts; no sink: nobody wants them.
struct Active {
  SpanSink* sink = nullptr;
  TraceContext place;
};
// Of the calling thread: a request is answered by one thread, from its beginning to its end.
Active active();

// Work of another thread for what that one is at.
class Adopted {
 public:
  explicit Adopted(const Active& work);
  Adopted(const Adopted&) = delete;
  Adopted& operator=(const Adopted&) = delete;
  ~Adopted();

 private:
  Active before_;
};

// A request: its span is the parent of what its thread does until it ends.
class Activity {
 public:
  // `traceparent` may be empty, or nonsense, which is the same. No sink: it does nothing.
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
