#include "service/evidence/metrics.h"

namespace nutshell::service {
namespace {

template <typename Counts>
Metric counter(std::string name, std::string help, const char* second, const Counts& counts) {
  Metric metric{std::move(name), std::move(help), Metric::Kind::Counter, {}, {}};
  for (const auto& [key, value] : counts)
    metric.samples.push_back(
        {{{"operation", key.first}, {second, key.second}}, static_cast<double>(value)});
  return metric;
}

}  // namespace

void Metrics::count(const std::string& operation, const std::string& outcome,
                    Clock::duration time) {
  const double seconds = std::chrono::duration<double>(time).count();
  state_.with([&](State& state) {
    ++state.outcomes[{operation, outcome}];
    Times& times = state.times[operation];
    for (std::size_t i = 0; i < kBounds.size(); ++i) {
      if (seconds <= kBounds[i]) ++times.buckets[i];
    }
    times.sum += seconds;
    ++times.count;
  });
}

void Metrics::refuse(const std::string& operation, const std::string& why) {
  state_.with([&](State& state) { ++state.refusals[{operation, why}]; });
}

MetricsSnapshot Metrics::snapshot() {
  return state_.with([](const State& state) {
    MetricsSnapshot all;
    all.push_back(counter("nutshell_operations_total", "Operations by how they ended.", "outcome",
                          state.outcomes));
    all.push_back(counter("nutshell_refusals_total", "Operations that were refused, by code.",
                          "code", state.refusals));
    Metric times{
        "nutshell_operation_seconds", "How long operations took.", Metric::Kind::Histogram, {}, {}};
    for (const auto& [operation, measured] : state.times) {
      Histogram histogram;
      histogram.labels = {{"operation", operation}};
      for (std::size_t i = 0; i < kBounds.size(); ++i)
        histogram.buckets.emplace_back(kBounds[i], measured.buckets[i]);
      histogram.sum = measured.sum;
      histogram.count = measured.count;
      times.histograms.push_back(std::move(histogram));
    }
    all.push_back(std::move(times));
    return all;
  });
}

}  // namespace nutshell::service
