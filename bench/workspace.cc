// What a sandbox's files cost in a large tree: a checkpoint, taking one edit back, and listing what
// changed, each against what people do without layers. All through the program, its start included.
#include <fmt/format.h>

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
  static Result<Workspace> start(const Options& options, Tree tree) {
    const std::string program = options.programs / "nutshell";
    const Captured made =
        TRY(run_captured({program, "create", "--ttl", "1h", "--workspace", tree.path()}));
    Workspace workspace(program, made.output.substr(0, made.output.find('\n')), std::move(tree));
    TRY(workspace.edit());
    return workspace;
  }
  Workspace(Workspace&& other) noexcept = default;
  Workspace& operator=(Workspace&&) = delete;
  ~Workspace() {
    if (!id_.empty()) (void)run_captured({program_, "destroy", id_});  // its ttl ends it too
  }

  Result<> edit() { return call({"exec", id_, "--", "sh", "-c", "echo more >> d0/f1"}); }
  Result<> checkpoint() { return call({"checkpoint", id_}); }
  Result<> rollback() { return call({"rollback", id_, "c1"}); }
  Result<> diff() { return call({"diff", id_, "--stat"}); }

 private:
  Workspace(std::string program, std::string id, Tree tree)
      : program_(std::move(program)), id_(std::move(id)), tree_(std::move(tree)) {}
  Result<> call(Arguments arguments) {
    arguments.insert(arguments.begin(), program_);
    TRY(run_captured(arguments));
    return {};
  }

  std::string program_;
  std::string id_;
  Tree tree_;
};

enum class Step { Rollback, Diff };

// The one edit is not part of the sample.
class WorkspaceStep : public Sampler {
 public:
  WorkspaceStep(Workspace workspace, Step step) : workspace_(std::move(workspace)), step_(step) {}

  Result<double> sample() override {
    TRY(workspace_.edit());
    return time_of(
        [this] { return step_ == Step::Rollback ? workspace_.rollback() : workspace_.diff(); });
  }

 private:
  Workspace workspace_;
  Step step_;
};

Result<Contender> in_tree(const Options& options, std::size_t files, Step step) {
  return Contender::start(fmt::format("{} files", files),
                          [&options, files, step]() -> Result<std::unique_ptr<Sampler>> {
                            Workspace workspace = TRY(Workspace::start(options, Tree(files)));
                            TRY(workspace.checkpoint());
                            return std::make_unique<WorkspaceStep>(std::move(workspace), step);
                          });
}

class OnTree : public Sampler {
 public:
  OnTree(Tree tree, std::function<Result<>(const Tree&)> step)
      : tree_(std::move(tree)), step_(std::move(step)) {}
  Result<double> sample() override {
    auto taken = time_of([this] { return step_(tree_); });
    std::error_code ignored;  // most steps leave nothing
    fs::remove_all(tree_.beside(), ignored);
    return taken;
  }

 private:
  Tree tree_;
  std::function<Result<>(const Tree&)> step_;
};

Result<Contender> copying() {
  return Contender::start("cp -a", []() -> Result<std::unique_ptr<Sampler>> {
    return std::make_unique<OnTree>(Tree(kLarge), [](const Tree& tree) {
      return run_to_end({"/bin/cp", "-a", tree.path(), tree.beside()});
    });
  });
}

Result<Contender> git_status() {
  return Contender::start("git status", []() -> Result<std::unique_ptr<Sampler>> {
    Tree tree(kLarge);
    const auto git = [](const Tree& where, Arguments words) -> Result<> {
      Arguments all{"/usr/bin/git",          "-C", where.path(), "-c", "user.name=b", "-c",
                    "user.email=b@localhost"};
      all.insert(all.end(), words.begin(), words.end());
      TRY(run_captured(all));
      return {};
    };
    TRY(git(tree, {"init", "-q"}));
    TRY(git(tree, {"add", "."}));
    TRY(git(tree, {"commit", "-qm", "all"}));
    std::ofstream(fs::path(tree.path()) / "d0/f1", std::ios::app) << "more\n";
    return std::make_unique<OnTree>(std::move(tree), [git](const Tree& where) {
      return git(where, {"status", "--short"});
    });
  });
}

Result<Row> versus(std::string path, Result<Contender> ours, Result<Contender> rival, double most,
                   std::size_t samples) {
  std::vector<Contender> contenders;
  contenders.push_back(TRY(std::move(ours)));
  contenders.push_back(TRY(std::move(rival)));
  std::vector<Series> found = TRY(take_turns(contenders, samples));
  return Row{std::move(path), "us", found[0], found[1], Bar{Bar::Kind::AtMost, most}, {}};
}

}  // namespace

Result<std::vector<Row>> bench_workspace(const Options& options) {
  const std::size_t few = std::max<std::size_t>(options.samples / 20, 3);
  std::vector<Row> rows;
  rows.push_back(TRY(versus("one edit taken back, 50 000 files",
                            in_tree(options, kLarge, Step::Rollback), copying(), 0.01, few)));
  rows.push_back(
      TRY(versus("the same, against 1 000 files", in_tree(options, kLarge, Step::Rollback),
                 in_tree(options, kSmall, Step::Rollback), 1.2, few)));
  rows.push_back(TRY(versus("diff after one change, 50 000 files",
                            in_tree(options, kLarge, Step::Diff), git_status(), 0.2, few)));
  return rows;
}

}  // namespace nutshell::bench
