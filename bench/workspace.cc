// Measures a checkpoint, the undo of one edit and the list of changes in a large tree, each against
// what people do without layers. All run the program, and its start counts.
// Copies of the tree lie beside it until the end: removing them takes as long as making them.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/random_id.h"
#include "bench/benchmarks.h"
#include "bench/rivals.h"

namespace nutshell::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLarge = 50'000;
constexpr std::size_t kSmall = 1'000;
constexpr std::size_t kFilesInDirectory = 100;

// A tree of small files, gone with this object.
class Tree {
 public:
  explicit Tree(std::size_t files)
      : root_(fs::temp_directory_path() / ("nutshell-bench-" + random_id(8))) {
    for (std::size_t i = 0; i < files; ++i) {
      const fs::path directory = root_ / "tree" / fmt::format("d{}", i / kFilesInDirectory);
      if (i % kFilesInDirectory == 0) fs::create_directories(directory);
      std::ofstream(directory / fmt::format("f{}", i)) << "content of file " << i << "\n";
    }
  }
  Tree(Tree&& other) noexcept : root_(std::exchange(other.root_, {})) {}
  Tree& operator=(Tree&&) = delete;
  ~Tree() {
    std::error_code ignored;  // what is left in /tmp is no reason to fail
    if (!root_.empty()) fs::remove_all(root_, ignored);
  }
  [[nodiscard]] std::string path() const { return root_ / "tree"; }
  [[nodiscard]] std::string beside() const { return root_ / "copy"; }

 private:
  fs::path root_;
};

// A sandbox with the tree as its workspace.
class Workspace {
 public:
  static Result<Workspace> start(const Options& options, const Tree& tree) {
    const std::string program = options.programs / "nutshell";
    const Captured made =
        TRY(run_captured({program, "create", "--ttl", "1h", "--workspace", tree.path()}));
    Workspace workspace(program, made.output.substr(0, made.output.find('\n')));
    TRY(workspace.change());
    return workspace;
  }
  Workspace(Workspace&& other) noexcept = default;
  Workspace& operator=(Workspace&&) = delete;
  ~Workspace() {
    if (!id_.empty()) (void)run_captured({program_, "destroy", id_});  // its ttl ends it too
  }

  Result<> change() { return call({"exec", id_, "--", "sh", "-c", "echo more >> d0/f1"}); }
  Result<> checkpoint() { return call({"checkpoint", id_}); }
  Result<> diff() { return call({"diff", id_, "--stat"}); }
  Result<> edit() {
    return call({"tool", "call", "edit", "-s", id_,
                 R"({"path":"d0/f2","old":"content","new":"other content"})"});
  }
  Result<> undo() { return call({"tool", "call", "undo", "-s", id_, "{}"}); }

 private:
  Workspace(std::string program, std::string id)
      : program_(std::move(program)), id_(std::move(id)) {}
  Result<> call(Arguments arguments) {
    arguments.insert(arguments.begin(), program_);
    TRY(run_captured(arguments));
    return {};
  }

  std::string program_;
  std::string id_;
};

enum class Step { Checkpoint, Undo, Diff };

// The preparation of a step is not part of the sample.
class WorkspaceStep : public Sampler {
 public:
  WorkspaceStep(Workspace workspace, Step step) : workspace_(std::move(workspace)), step_(step) {}

  Result<double> sample() override {
    switch (step_) {
      case Step::Checkpoint:
        TRY(workspace_.change());
        return time_of([this] { return workspace_.checkpoint(); });
      case Step::Undo:
        TRY(workspace_.edit());
        return time_of([this] { return workspace_.undo(); });
      case Step::Diff:
        break;
    }
    return time_of([this] { return workspace_.diff(); });
  }

 private:
  Workspace workspace_;
  Step step_;
};

Result<Contender> in_tree(const Options& options, const Tree& tree, std::string name, Step step) {
  return Contender::start(std::move(name), [&]() -> Result<std::unique_ptr<Sampler>> {
    return std::make_unique<WorkspaceStep>(TRY(Workspace::start(options, tree)), step);
  });
}

Result<Contender> copying(const Tree& tree) {
  return Contender::start("cp -a", timed([&tree] {
                            const std::string copy = tree.beside() + random_id(4);
                            return run_to_end({"/bin/cp", "-a", tree.path(), copy});
                          }));
}

Result<> git(const Tree& tree, const Arguments& words) {
  Arguments all{"/usr/bin/git",          "-C", tree.path(), "-c", "user.name=b", "-c",
                "user.email=b@localhost"};
  all.insert(all.end(), words.begin(), words.end());
  TRY(run_captured(all));
  return {};
}

Result<Contender> git_status(const Tree& tree) {
  return Contender::start("git status", [&]() -> Result<std::unique_ptr<Sampler>> {
    TRY(git(tree, {"init", "-q"}));
    TRY(git(tree, {"add", "."}));
    TRY(git(tree, {"commit", "-qm", "all"}));
    std::ofstream(fs::path(tree.path()) / "d0/f1", std::ios::app) << "more\n";
    return timed([&tree] { return git(tree, {"status", "--short"}); })();
  });
}

// Copying takes seconds, and its figures are far from ours: the rounds are few.
Result<std::vector<Series>> few_turns(std::vector<Contender>& contenders, std::size_t samples) {
  std::vector<Series> all;
  for (const Contender& contender : contenders)
    all.push_back({contender.name(), {}});
  for (std::size_t round = 0; round <= samples; ++round) {
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      TRY(contenders[i].ask());
      const double value = TRY(contenders[i].answer());
      if (round > 0) all[i].values.push_back(value);
    }
  }
  return all;
}

Row row_of(std::string path, const Series& ours, const Series& rival, double most) {
  return Row{std::move(path), "us", ours, rival, Bar{Bar::Kind::AtMost, most}, {}};
}

// A checkpoint and an undo, each in both trees and in turns. Before anything is copied: what then
// goes to the disk would be in the way of one tree more than of the other.
Result<std::vector<Row>> growth(const Options& options, const Tree& large, const Tree& small) {
  const std::size_t samples = std::clamp<std::size_t>(options.samples / 10, 3, 25);
  std::vector<Row> rows;
  for (const auto& [step, name] :
       {std::pair(Step::Checkpoint, "checkpoint"), std::pair(Step::Undo, "undo of one edit")}) {
    std::vector<Contender> both;
    both.push_back(TRY(in_tree(options, large, fmt::format("{}, 50 000 files", name), step)));
    both.push_back(TRY(in_tree(options, small, fmt::format("{}, 1 000 files", name), step)));
    const std::vector<Series> found = TRY(take_turns(both, samples));
    rows.push_back(
        row_of(fmt::format("{}, growth from 1 000 files", name), found[0], found[1], 1.2));
  }
  return rows;
}

// The last one: it leaves a repository in the tree.
Result<Row> listing(const Options& options, const Tree& large) {
  std::vector<Contender> both;
  both.push_back(TRY(git_status(large)));
  both.push_back(TRY(in_tree(options, large, "diff --stat", Step::Diff)));
  const std::vector<Series> found =
      TRY(take_turns(both, std::max<std::size_t>(options.samples / 20, 3)));
  return row_of("diff after one change, 50 000 files", found[1], found[0], 0.2);
}

}  // namespace

Result<std::vector<Row>> bench_workspace(const Options& options) {
  const Tree large(kLarge);
  const Tree small(kSmall);
  std::vector<Row> rows = TRY(growth(options, large, small));
  std::vector<Contender> copier;
  copier.push_back(TRY(copying(large)));
  const std::vector<Series> copied =
      TRY(few_turns(copier, std::max<std::size_t>(options.samples / 100, 2)));
  for (const std::size_t grown : {std::size_t{0}, std::size_t{1}}) {
    const Series ours = rows[grown].ours;
    rows.push_back(row_of(ours.name, ours, copied.front(), 0.01));
  }
  rows.push_back(TRY(listing(options, large)));
  return rows;
}

}  // namespace nutshell::bench
