// Counts operations by their outcome, and how long they took. Thread-safe.
#pragma once

#include <array>
#include <map>
#include <string>

#include "base/deadline.h"
#include "base/guarded.h"
#include "service/model/metrics_view.h"

namespace nutshell::service {

class Metrics {
 public:
  // For example "exec", "exited".
  void count(const std::string& operation, const std::string& outcome, Clock::duration time);
  void refuse(const std::string& operation, const std::string& why);

  [[nodiscard]] MetricsSnapshot snapshot();

 private:
  static constexpr std::array<double, 16> kBounds = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005,
                                                     0.01,   0.025,   0.05,   0.1,   0.25,   0.5,
                                                     1,      5,       30,     120};
  struct Times {
    std::array<std::uint64_t, kBounds.size()> buckets{};
    double sum = 0;
    std::uint64_t count = 0;
  };
  struct State {
    std::map<std::pair<std::string, std::string>, std::uint64_t> outcomes;
    std::map<std::pair<std::string, std::string>, std::uint64_t> refusals;
    std::map<std::string, Times> times;
  };
  Guarded<State> state_;
};

}  // namespace nutshell::service
