#include "daemon/spans.h"

#include <fmt/format.h>

#include "base/file.h"
#include "http/tls/tls.h"

namespace nutshell::daemon {
namespace {

Result<http::Headers> read_headers(const std::string& file) {
  http::Headers headers;
  if (file.empty()) return headers;
  const std::string text = TRY(read_file(file));
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.empty()) continue;
    const std::size_t colon = line.find(": ");
    if (colon == line.npos || colon == 0) {
      return failure(ErrorCode::InvalidArgument,
                     fmt::format("{}: a line must be like 'Name: value'", file));
    }
    headers.add(std::string(line.substr(0, colon)), std::string(line.substr(colon + 2)));
  }
  return headers;
}

service::Metric metric_of(std::string name, std::string help, service::Metric::Kind kind,
                          std::uint64_t value) {
  return {std::move(name), std::move(help), kind, {{{}, static_cast<double>(value)}}, {}};
}

}  // namespace

Result<std::unique_ptr<telemetry::Exporter>> open_exporter(const Config& config) {
  const std::string& endpoint = config.text("otlp.endpoint");
  if (endpoint.empty()) return std::unique_ptr<telemetry::Exporter>();
  telemetry::Exporter::Options options;
  options.url = TRY(telemetry::parse_collector_url(endpoint));
  options.headers = TRY(read_headers(config.text("otlp.headers_file")));
  if (options.url.is_https) {
    http::TlsClientFiles files;
    files.server_name = options.url.host;
    files.authority = config.text("otlp.authority");
    options.make_transport = TRY(http::tls_client(files));
  }
  return std::make_unique<telemetry::Exporter>(std::move(options));
}

service::MetricsSnapshot metrics_of(const telemetry::Exporter* exporter) {
  using enum service::Metric::Kind;
  if (exporter == nullptr) return {};
  const auto figures = exporter->figures();
  return {
      metric_of("nutshell_spans_sent_total", "Spans that the collector took.", Counter,
                figures.sent),
      metric_of("nutshell_spans_dropped_total",
                "Spans that were lost: too many waited, or the collector did not take them.",
                Counter, figures.dropped),
      metric_of("nutshell_spans_waiting", "Spans that are not sent yet.", Gauge, figures.waiting)};
}

}  // namespace nutshell::daemon
