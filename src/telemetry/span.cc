#include "telemetry/span.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/random_id.h"

namespace nutshell::telemetry {
namespace {

// All zeros would mean "none", but are practically impossible.
template <std::size_t Size>
std::array<std::uint8_t, Size> random_bytes() {
  std::array<std::uint8_t, Size> bytes{};
  for (std::size_t begin = 0; begin < Size; begin += sizeof(std::uint64_t)) {
    const std::uint64_t number = random_number();
    std::memcpy(bytes.data() + begin, &number, sizeof number);
  }
  return bytes;
}

std::optional<std::uint8_t> digit(char letter) {
  if (letter >= '0' && letter <= '9') return static_cast<std::uint8_t>(letter - '0');
  if (letter >= 'a' && letter <= 'f') return static_cast<std::uint8_t>(letter - 'a' + 10);
  return std::nullopt;  // capital letters are not allowed there
}

// False if there are other characters, or only zeros where they mean "none".
bool read_bytes(std::string_view text, std::uint8_t* bytes, std::size_t size) {
  if (text.size() != 2 * size) return false;
  for (std::size_t i = 0; i < size; ++i) {
    const auto high = digit(text[2 * i]);
    const auto low = digit(text[2 * i + 1]);
    if (!high || !low) return false;
    bytes[i] = static_cast<std::uint8_t>(*high * 16 + *low);
  }
  return true;
}

template <std::size_t Size>
bool is_zero(const std::array<std::uint8_t, Size>& bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::uint8_t one) { return one == 0; });
}

Active& slot() {
  thread_local Active current;
  return current;
}

}  // namespace

std::string hexadecimal(const std::uint8_t* bytes, std::size_t size) {
  std::string text;
  for (std::size_t i = 0; i < size; ++i)
    text += fmt::format("{:02x}", bytes[i]);
  return text;
}

TraceContext TraceContext::fresh() {
  return {random_bytes<16>(), random_bytes<8>(), true};
}

std::optional<TraceContext> TraceContext::parse(std::string_view text) {
  // "00-" 32 digits "-" 16 digits "-" 2 digits; a later version may be longer, with a dash.
  constexpr std::size_t kLength = 55;
  if (text.size() < kLength || text[2] != '-' || text[35] != '-' || text[52] != '-') {
    return std::nullopt;
  }
  std::uint8_t version = 0;
  std::uint8_t flags = 0;
  TraceContext context;
  const bool is_read = read_bytes(text.substr(0, 2), &version, 1) &&
                       read_bytes(text.substr(3, 32), context.trace.data(), 16) &&
                       read_bytes(text.substr(36, 16), context.span.data(), 8) &&
                       read_bytes(text.substr(53, 2), &flags, 1);
  if (!is_read || version == 0xff || is_zero(context.trace) || is_zero(context.span)) {
    return std::nullopt;
  }
  if (text.size() > kLength && (version == 0 || text[kLength] != '-')) return std::nullopt;
  context.is_sampled = (flags & 1U) != 0;
  return context;
}

TraceContext TraceContext::child() const {
  return {trace, random_bytes<8>(), is_sampled};
}

std::string TraceContext::text() const {
  return fmt::format("00-{}-{}-{}", hexadecimal(trace.data(), trace.size()),
                     hexadecimal(span.data(), span.size()), is_sampled ? "01" : "00");
}

Active active() {
  return slot();
}

ActiveScope::ActiveScope(const Active& work) : before_(slot()) {
  slot() = work;
}

ActiveScope::~ActiveScope() {
  slot() = before_;
}

Activity::Activity(SpanSink* sink, std::string_view traceparent, std::string name)
    : sink_(sink), before_(slot()) {
  if (sink_ == nullptr) return;
  const auto parent = TraceContext::parse(traceparent);
  span_.place = parent ? parent->child() : TraceContext::fresh();
  if (!span_.place.is_sampled) sink_ = nullptr;  // the caller does not sample this trace
  if (sink_ == nullptr) return;
  if (parent) span_.parent = parent->span;
  span_.name = std::move(name);
  span_.kind = Span::Kind::Server;
  span_.begin = std::chrono::system_clock::now();
  slot() = {sink_, span_.place};
}

Activity::~Activity() {
  if (sink_ == nullptr) return;
  slot() = before_;
  span_.end = std::chrono::system_clock::now();
  sink_->take(std::move(span_));
}

void Activity::add(std::string name, std::string value) {
  if (sink_ != nullptr) span_.attributes.push_back({std::move(name), std::move(value)});
}

void Activity::add(std::string name, std::int64_t value) {
  if (sink_ != nullptr) span_.attributes.push_back({std::move(name), value});
}

}  // namespace nutshell::telemetry
