// How many sandboxes a second four processes make, use and destroy; by turns with bubblewrap.
#include <unistd.h>

#include "bench/benchmarks.h"
#include "bench/rivals.h"
#include "bench/sandboxes.h"

namespace nutshell::bench {
namespace {

constexpr std::size_t kWorkers = 4;
constexpr std::chrono::milliseconds kSlice{1'000};

// One sample is a slice of time, its value the number of times `one` was done in it.
class Repeated : public Sampler {
 public:
  explicit Repeated(std::unique_ptr<Sampler> one) : one_(std::move(one)) {}

  Result<double> sample() override {
    const Deadline end = Deadline::in(kSlice);
    double count = 0;
    for (; !end.has_passed(); ++count)
      TRY(one_->sample());
    return count;
  }

 private:
  std::unique_ptr<Sampler> one_;
};

using Team = std::vector<Contender>;

Result<Team> make_team(const std::string& name, const MakeSampler& make) {
  Team team;
  for (std::size_t i = 0; i < kWorkers; ++i) {
    team.push_back(TRY(Contender::start(name, [&]() -> Result<std::unique_ptr<Sampler>> {
      return std::make_unique<Repeated>(TRY(make()));
    })));
  }
  return team;
}

Result<double> work_together(Team& team) {
  for (Contender& worker : team)
    TRY(worker.ask());
  double count = 0;
  for (Contender& worker : team)
    count += TRY(worker.answer());
  return count / std::chrono::duration<double>(kSlice).count();
}

}  // namespace

Result<std::vector<Row>> bench_throughput(const Options& options) {
  TRY(check_bubblewrap());
  const Arguments command = {"/bin/true"};
  Team ours = TRY(make_team("ours", whole_life(Pieces::Recycled, command)));
  Team rivals = TRY(make_team("bwrap", timed([=] { return run_to_end(bubblewrap(command)); })));
  Series our_series{"sandboxes per second", {}};
  Series rival_series{"bwrap per second", {}};
  TRY(work_together(ours));
  TRY(work_together(rivals));
  for (auto done = kSlice * 0; done < options.duration; done += kSlice) {
    our_series.values.push_back(TRY(work_together(ours)));
    rival_series.values.push_back(TRY(work_together(rivals)));
  }
  std::optional<Bar> bar;
  if (::geteuid() == 0) bar = Bar{Bar::Kind::AtLeast, 3};
  return std::vector<Row>{{"cold throughput, 4 workers", "1/s", our_series, rival_series, bar, {}}};
}

}  // namespace nutshell::bench
