// A one-shot run, judged as people meet it: a program that is started and waited for.
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>

#include "base/file.h"
#include "base/random_id.h"
#include "bench/benchmarks.h"
#include "bench/rivals.h"

namespace nutshell::bench {
namespace {

namespace fs = std::filesystem;

// One-shot runs of a process with a runtime directory of its own.
class OneShot : public Sampler {
 public:
  enum class Launcher { Absent, Alive };

  static Result<std::unique_ptr<Sampler>> make(const std::string& program, Launcher launcher) {
    auto made = std::unique_ptr<OneShot>(new OneShot(program));
    std::error_code error;
    fs::create_directory(made->directory_, error);
    if (error) return failure(ErrorCode::Internal, "make " + made->directory_);
    fs::permissions(made->directory_, fs::perms::owner_all, error);
    ::setenv("NUTSHELL_RUNTIME_DIR", made->directory_.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
    // A sandbox that stays keeps the launcher alive, as one that lingers would be.
    if (launcher == Launcher::Alive)
      made->kept_ = TRY(run_captured({program, "create", "--ttl", "1h"})).output;
    while (made->kept_.ends_with('\n'))
      made->kept_.pop_back();
    TRY(run_to_end({program, "run", "--", "true"}));
    return made;
  }
  OneShot(const OneShot&) = delete;
  OneShot& operator=(const OneShot&) = delete;
  ~OneShot() override {
    if (!kept_.empty()) (void)run_to_end({program_, "destroy", kept_});  // else its ttl ends it
    std::error_code ignored;  // a launcher that lingers still has its socket in it
    if (kept_.empty()) fs::remove_all(directory_, ignored);
  }

  Result<double> sample() override {
    return time_of([this] { return run_to_end({program_, "run", "--", "true"}); });
  }

 private:
  explicit OneShot(std::string program)
      : program_(std::move(program)),
        directory_((fs::temp_directory_path() / ("nutshell-bench-" + random_id(8))).native()) {}

  std::string program_;
  std::string directory_;
  std::string kept_;  // id of the sandbox that stays; empty: no launcher is wanted
};

MakeSampler one_shot(const std::string& program, OneShot::Launcher launcher) {
  return [=] { return OneShot::make(program, launcher); };
}

}  // namespace

Result<std::vector<Row>> bench_process(const Options& options) {
  TRY(check_bubblewrap());
  const std::string program = options.programs / "nutshell";
  std::vector<Contender> contenders;
  contenders.push_back(
      TRY(Contender::start("nutshell run -- true", one_shot(program, OneShot::Launcher::Absent))));
  contenders.push_back(
      TRY(Contender::start("bwrap true", timed([] { return run_to_end(bubblewrap({"true"})); }))));
  contenders.push_back(TRY(Contender::start("nutshell version", timed([=] {
                                              return run_to_end({program, "version"});
                                            }))));
  contenders.push_back(TRY(Contender::start("the same with a launcher alive",
                                            one_shot(program, OneShot::Launcher::Alive))));
  const std::vector<Series> found = TRY(take_turns(contenders, options.samples));
  return std::vector<Row>{
      {"whole process", "us", found[0], found[1], Bar{Bar::Kind::AtMost, 0.8}, {}},
      {"whole process, a launcher alive",
       "us",
       found[3],
       found[1],
       Bar{Bar::Kind::AtMost, 0.45},
       {}},
      {"whole process, the program's own start", "us", found[2], found[1], {}, {}},
  };
}

}  // namespace nutshell::bench
