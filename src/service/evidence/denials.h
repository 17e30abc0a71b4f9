// Counts refusals, so that a flood of them costs a few records and not one each: the first of each
// caller in a minute are written whole, the rest as a number. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "base/guarded.h"

namespace nutshell::service {

class Denials {
 public:
  struct Sum {
    std::string tenant;
    std::string who;
    std::uint64_t count = 0;
  };
  bool is_worth_a_record(const std::string& tenant, const std::string& who);
  // Returns the counts of minutes that are over and forgets them.
  std::vector<Sum> take_sums();

 private:
  static constexpr std::uint64_t kWritten = 5;
  static constexpr std::size_t kMostCallers = 1024;  // beyond that they are counted together
  static constexpr std::chrono::minutes kWindow{1};
  struct Window {
    Clock::time_point began = Clock::now();
    std::uint64_t count = 0;
  };
  Guarded<std::map<std::pair<std::string, std::string>, Window>> windows_;
};

}  // namespace nutshell::service
