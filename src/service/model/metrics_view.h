// Metrics of the service, to be printed by a server.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace nutshell::service {

struct Sample {
  std::vector<std::pair<std::string, std::string>> labels;
  double value = 0;
};

struct Histogram {
  std::vector<std::pair<std::string, std::string>> labels;
  std::vector<std::pair<double, std::uint64_t>> buckets;  // upper bound in seconds, cumulative
  double sum = 0;
  std::uint64_t count = 0;
};

struct Metric {
  enum class Kind : std::uint8_t { Counter, Gauge, Histogram };
  std::string name;  // "nutshell_execs_total"
  std::string help;
  Kind kind = Kind::Counter;
  std::vector<Sample> samples;
  std::vector<Histogram> histograms;
};

using MetricsSnapshot = std::vector<Metric>;

}  // namespace nutshell::service
