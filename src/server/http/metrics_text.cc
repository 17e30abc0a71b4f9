#include "server/http/metrics_text.h"

#include <fmt/format.h>

namespace nutshell::server {
namespace {

using Labels = std::vector<std::pair<std::string, std::string>>;

std::string escaped(const std::string& text, std::string_view also) {
  std::string safe;
  for (const char letter : text) {
    if (letter == '\n') {
      safe += "\\n";
      continue;
    }
    if (letter == '\\' || also.find(letter) != std::string_view::npos) safe += '\\';
    safe += letter;
  }
  return safe;
}

std::string labels_text(const Labels& labels, const std::string& bound = {}) {
  std::string text;
  for (const auto& [name, value] : labels)
    text += fmt::format("{}{}=\"{}\"", text.empty() ? "" : ",", name, escaped(value, "\""));
  if (!bound.empty()) text += fmt::format("{}le=\"{}\"", text.empty() ? "" : ",", bound);
  return text.empty() ? text : "{" + text + "}";
}

const char* word_for(service::Metric::Kind kind) {
  switch (kind) {
    case service::Metric::Kind::Counter:
      return "counter";
    case service::Metric::Kind::Gauge:
      return "gauge";
    case service::Metric::Kind::Histogram:
      return "histogram";
  }
  return "untyped";
}

void add_histogram(std::string& text, const std::string& name, const service::Histogram& one) {
  for (const auto& [bound, count] : one.buckets) {
    text += fmt::format("{}_bucket{} {}\n", name, labels_text(one.labels, fmt::format("{}", bound)),
                        count);
  }
  text += fmt::format("{}_bucket{} {}\n", name, labels_text(one.labels, "+Inf"), one.count);
  text += fmt::format("{}_sum{} {}\n", name, labels_text(one.labels), one.sum);
  text += fmt::format("{}_count{} {}\n", name, labels_text(one.labels), one.count);
}

}  // namespace

std::string metrics_text(const service::MetricsSnapshot& metrics) {
  std::string text;
  for (const service::Metric& metric : metrics) {
    text += fmt::format("# HELP {} {}\n", metric.name, escaped(metric.help, ""));
    text += fmt::format("# TYPE {} {}\n", metric.name, word_for(metric.kind));
    for (const service::Sample& sample : metric.samples)
      text += fmt::format("{}{} {}\n", metric.name, labels_text(sample.labels), sample.value);
    for (const service::Histogram& one : metric.histograms)
      add_histogram(text, metric.name, one);
  }
  return text;
}

}  // namespace nutshell::server
