#include "telemetry/exporter.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace nutshell::telemetry {

Result<CollectorUrl> parse_collector_url(std::string_view text) {
  CollectorUrl url;
  const auto wrong = [&] {
    return failure(
        ErrorCode::InvalidArgument,
        fmt::format("'{}' is no address of a collector, like http://127.0.0.1:4318", text));
  };
  std::string_view rest = text;
  url.is_https = rest.starts_with("https://");
  if (!url.is_https && !rest.starts_with("http://")) return wrong();
  rest.remove_prefix(url.is_https ? 8 : 7);
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  if (slash + 1 < rest.size()) url.path = std::string(rest.substr(slash));
  std::string_view place = rest.substr(0, slash);
  const std::size_t colon = place.rfind(':');
  if (colon != place.npos && place.find(']', colon) == place.npos) {
    const std::string_view digits = place.substr(colon + 1);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), url.port);
    if (error != std::errc() || end != digits.data() + digits.size() || url.port == 0) {
      return wrong();
    }
    place = place.substr(0, colon);
  }
  if (place.starts_with('[') && place.ends_with(']')) place = place.substr(1, place.size() - 2);
  if (place.empty() || place.find_first_of("@?# ") != place.npos) return wrong();
  url.host = std::string(place);
  return url;
}

Exporter::Exporter(Options options)
    : options_(std::move(options)),
      client_({http::dial_tcp(options_.url.host, options_.url.port), options_.make_transport,
               fmt::format("{}:{}", options_.url.host, options_.url.port)}) {
  thread_ = std::thread([this] { run(); });
}

Exporter::~Exporter() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Exporter::take(Span span) {
  const std::lock_guard lock(mutex_);
  if (waiting_.size() >= options_.most_waiting || is_ending_) {
    ++dropped_;
    return;
  }
  waiting_.push_back(std::move(span));
  if (waiting_.size() == options_.most_at_once) changed_.notify_all();
}

Exporter::Figures Exporter::figures() const {
  const std::lock_guard lock(mutex_);
  return {sent_, dropped_, waiting_.size()};
}

std::vector<Span> Exporter::next() {
  std::unique_lock lock(mutex_);
  do {
    changed_.wait_for(lock, options_.interval,
                      [this] { return is_ending_ || waiting_.size() >= options_.most_at_once; });
  } while (waiting_.empty() && !is_ending_);
  const std::size_t count = std::min(waiting_.size(), options_.most_at_once);
  std::vector<Span> some;
  some.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    some.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  return some;
}

bool Exporter::send(const std::vector<Span>& spans) {
  http::Client::Request request;
  request.method = "POST";
  request.target = options_.url.path;
  request.headers = options_.headers;
  request.headers.add("Content-Type", "application/json");
  request.body = otlp_json(spans, options_.service_name);
  constexpr std::size_t kMostAnswer = 64U << 10U;
  const auto answer = client_.send(request, Deadline::in(options_.timeout), kMostAnswer);
  if (!answer) client_.close();
  return answer && answer->status >= 200 && answer->status < 300;
}

void Exporter::pause(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, time, [this] { return is_ending_; });
}

// Does not send the spans of a failed request again: the collector may have them already.
void Exporter::run() {
  std::chrono::milliseconds patience = options_.interval;
  for (;;) {
    const std::vector<Span> spans = next();
    if (spans.empty()) return;
    const auto begun = Clock::now();
    const bool is_sent = send(spans);
    bool is_ending = false;
    {
      const std::lock_guard lock(mutex_);
      (is_sent ? sent_ : dropped_) += spans.size();
      is_ending = is_ending_;
    }
    if (is_ending && (!is_sent || Clock::now() - begun > options_.timeout)) return;
    if (is_sent) {
      patience = options_.interval;
      continue;
    }
    pause(patience);
    patience = std::min(2 * patience, options_.longest_pause);
  }
}

}  // namespace nutshell::telemetry
