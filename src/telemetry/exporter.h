// Sends spans to a collector with OTLP over HTTP, encoded as JSON. Spans that a slow or missing
// collector does not take wait up to a bound and are then dropped; no caller waits. Thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"
#include "http/client.h"
#include "telemetry/span.h"

namespace nutshell::telemetry {

// The parts of "http://127.0.0.1:4318/v1/traces".
struct CollectorUrl {
  bool is_https = false;
  std::string host;
  std::uint16_t port = 4318;
  std::string path = "/v1/traces";
};
Result<CollectorUrl> parse_collector_url(std::string_view text);

// Encodes the body of one request.
std::string otlp_json(const std::vector<Span>& spans, const std::string& service_name);

class Exporter : public SpanSink {
 public:
  struct Options {
    CollectorUrl url;
    http::MakeTransport make_transport = http::make_bare_transport;
    http::Headers headers = {};  // such as a token
    std::string service_name = "nutshelld";
    std::size_t most_waiting = 4096;
    std::size_t most_at_once = 512;
    std::chrono::milliseconds interval{1000};         // how long a span waits for others
    std::chrono::milliseconds timeout{5000};          // of one request
    std::chrono::milliseconds longest_pause{30'000};  // the pause doubles after each failure
  };
  explicit Exporter(Options options);
  Exporter(const Exporter&) = delete;
  Exporter& operator=(const Exporter&) = delete;
  ~Exporter() override;  // tries once to send the waiting spans

  void take(Span span) override;

  struct Figures {
    std::uint64_t sent = 0;
    std::uint64_t dropped = 0;
    std::size_t waiting = 0;
  };
  [[nodiscard]] Figures figures() const;

 private:
  void run();
  // Waits until there are enough spans, or some waited long enough. Empty at the end.
  std::vector<Span> next();
  bool send(const std::vector<Span>& spans);
  void pause(std::chrono::milliseconds time);

  const Options options_;
  http::Client client_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Span> waiting_;
  std::uint64_t sent_ = 0;
  std::uint64_t dropped_ = 0;
  bool is_ending_ = false;
  std::thread thread_;
};

}  // namespace nutshell::telemetry
