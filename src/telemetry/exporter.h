// Sends spans to a collector: OTLP over HTTP, encoded as JSON. A collector that is slow, broken or
// not there costs memory up to a bound, and spans; nobody waits for it. Thread-safe.
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

// "http://127.0.0.1:4318/v1/traces", cut to pieces; without a path it is OTLP's own.
struct CollectorUrl {
  bool is_https = false;
  std::string host;
  std::uint16_t port = 4318;
  std::string path = "/v1/traces";
};
Result<CollectorUrl> parse_collector_url(std::string_view text);

// One request's body.
std::string otlp_json(const std::vector<Span>& spans, const std::string& service_name);

class Exporter : public SpanSink {
 public:
  struct Options {
    CollectorUrl url;
    http::MakeTransport make_transport = http::make_bare_transport;
    http::Headers headers = {};  // to be let in
    std::string service_name = "nutshelld";
    std::size_t most_waiting = 4096;
    std::size_t most_at_once = 512;
    std::chrono::milliseconds interval{1000};         // how long a span waits for others
    std::chrono::milliseconds timeout{5000};          // of one request
    std::chrono::milliseconds longest_pause{30'000};  // after failures, which doubles each time
  };
  explicit Exporter(Options options);
  Exporter(const Exporter&) = delete;
  Exporter& operator=(const Exporter&) = delete;
  ~Exporter() override;  // sends what waits, once

  void take(Span span) override;

  struct Figures {
    std::uint64_t sent = 0;
    std::uint64_t dropped = 0;
    std::size_t waiting = 0;
  };
  [[nodiscard]] Figures figures() const;

 private:
  void run();
  // What waits, when there is enough of it, or it waited long enough; empty: the end.
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
