// From nothing to a sandbox to the end of /bin/true to nothing, in the process that asks.
#include <unistd.h>

#include "bench/benchmarks.h"
#include "bench/rivals.h"
#include "bench/sandboxes.h"

namespace nutshell::bench {

Result<std::vector<Row>> bench_cold(const Options& options) {
  TRY(check_bubblewrap());
  const Arguments command = {"/bin/true"};
  std::vector<Contender> contenders;
  contenders.push_back(
      TRY(Contender::start("pieces made ahead", whole_life(Pieces::MadeAhead, command))));
  contenders.push_back(TRY(
      Contender::start("bwrap /bin/true", timed([=] { return run_to_end(bubblewrap(command)); }))));
  contenders.push_back(
      TRY(Contender::start("pieces recycled only", whole_life(Pieces::Recycled, command))));
  contenders.push_back(
      TRY(Contender::start("no pool at all", whole_life(Pieces::MadeWhenNeeded, command))));
  contenders.push_back(
      TRY(Contender::start("/bin/true, no sandbox", timed([=] { return run_to_end(command); }))));
  const std::vector<Series> found = TRY(take_turns(contenders, options.samples));

  const bool is_root = ::geteuid() == 0;
  const Bar bar{Bar::Kind::AtMost, is_root ? 0.25 : 0.5};
  const std::string path = is_root ? "cold, root" : "cold, plain user";
  return std::vector<Row>{
      {path, "us", found[0], found[1], bar, protections_here()},
      {path + ", only recycled pieces", "us", found[2], found[1], {}, {}},
      {path + ", without pools", "us", found[3], found[1], {}, {}},
      {path + ", the floor under it", "us", found[4], found[1], {}, {}},
  };
}

}  // namespace nutshell::bench
