// Samples of several contenders, taken in turns so that noise hits all of them alike. Each
// contender is a process of its own with one thread: a starter clones the process it lives in, and
// as a plain user moves it into a user namespace where nobody else's samples belong.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/child_process.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace nutshell::bench {

using Microseconds = std::chrono::duration<double, std::micro>;

struct Series {
  std::string name;
  std::vector<double> values;
};

struct Statistics {
  std::size_t count = 0;
  double min = 0;
  double p50 = 0;
  double p95 = 0;
  double max = 0;
};

Statistics summarize(const Series& series);

// Takes one sample whenever it is asked; what is not part of the sample is its own business.
class Sampler {
 public:
  virtual ~Sampler() = default;
  virtual Result<double> sample() = 0;
};

// Called in the contender's own process.
using MakeSampler = std::function<Result<std::unique_ptr<Sampler>>()>;

// How long `step` takes, in microseconds; fails as it does.
Result<double> time_of(const std::function<Result<>()>& step);

// A sampler that times one step and keeps nothing.
MakeSampler timed(std::function<Result<>()> step);

class Contender {
 public:
  // Returns once it is prepared.
  static Result<Contender> start(std::string name, const MakeSampler& make);
  Contender(Contender&&) = default;
  Contender& operator=(Contender&&) = delete;
  ~Contender();  // lets it clean up behind itself

  [[nodiscard]] const std::string& name() const { return name_; }
  Result<> ask();
  Result<double> answer();

 private:
  Contender(std::string name, ChildProcess process, UniqueFd socket)
      : name_(std::move(name)), process_(std::move(process)), socket_(std::move(socket)) {}

  std::string name_;
  ChildProcess process_;
  UniqueFd socket_;
};

// One sample of each, then the next of each; the first few rounds are for warming up.
Result<std::vector<Series>> take_turns(std::vector<Contender>& contenders, std::size_t samples);

}  // namespace nutshell::bench
