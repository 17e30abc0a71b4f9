// A one-shot run, judged as people meet it: a program that is started and waited for.
#include "bench/benchmarks.h"
#include "bench/rivals.h"

namespace nutshell::bench {

Result<std::vector<Row>> bench_process(const Options& options) {
  TRY(check_bubblewrap());
  const std::string program = options.programs / "nutshell";
  TRY(run_to_end({program, "run", "--", "true"}));
  std::vector<Contender> contenders;
  contenders.push_back(TRY(Contender::start("nutshell run -- true", timed([=] {
                                              return run_to_end({program, "run", "--", "true"});
                                            }))));
  contenders.push_back(
      TRY(Contender::start("bwrap true", timed([] { return run_to_end(bubblewrap({"true"})); }))));
  contenders.push_back(TRY(Contender::start("nutshell version", timed([=] {
                                              return run_to_end({program, "version"});
                                            }))));
  const std::vector<Series> found = TRY(take_turns(contenders, options.samples));
  return std::vector<Row>{
      {"whole process", "us", found[0], found[1], Bar{Bar::Kind::AtMost, 0.8}, {}},
      {"whole process, the program's own start", "us", found[2], found[1], {}, {}},
  };
}

}  // namespace nutshell::bench
