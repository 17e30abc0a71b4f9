// The file tools against the program that people would spawn in the same sandbox instead. Both take
// turns in one process on one sandbox. What is spawned is neither asked for in JSON nor rendered
// for a model, so read and edit are measured without that too, and the bar is for that line.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "base/random_id.h"
#include "bench/benchmarks.h"
#include "bench/sandboxes.h"
#include "init/init.h"
#include "runtime/tool_runner.h"
#include "tools/argument_parser.h"
#include "tools/registry.h"

namespace nutshell::bench {
namespace {

using Command = std::vector<std::string>;

enum class Fields { Left, Wanted };

// A sandbox, its tools, and a place for what they keep.
class ToolSandbox {
 public:
  static Result<std::unique_ptr<ToolSandbox>> start(const std::string& preparation,
                                                    Fields fields = Fields::Left) {
    auto made = std::unique_ptr<ToolSandbox>(
        new ToolSandbox(TRY(native::Starter::create(&init::run_init, native::Pooling::Off))));
    TRY(made->prepare(preparation, fields));
    return made;
  }
  ToolSandbox(ToolSandbox&&) = delete;
  ToolSandbox& operator=(ToolSandbox&&) = delete;
  ~ToolSandbox() {
    if (sandbox_) starter_.finish(std::move(*sandbox_));
    std::error_code ignored;  // what is left in /tmp is no reason to fail
    std::filesystem::remove_all(place_, ignored);
  }

  Result<ToolResult> call(const std::string& name, const std::string& arguments) {
    const Tool& tool = *TRY(find_tool(tool_registry(), name, ""));
    ToolResult result = runner_->call(tool, parse_arguments(tool, arguments, Dialect::Nutshell));
    if (result.error) return failure(ErrorCode::Internal, result.text);
    return result;
  }
  // The file's text at the host, as a spawned cat gives it: not yet numbered, nor counted in
  // tokens.
  Result<> fetch(const std::string& path) {
    const wire::ReadText request{path, 1, 1'000'000, wire::kMostPageBytes, 1000};
    const auto answer = TRY(client_->call<wire::TextPage>(request));
    if (const auto* page = std::get_if<wire::TextPage>(&answer); page != nullptr) {
      if (page->text.size() >= 10'000) return {};
    }
    return failure(ErrorCode::Internal, "not the file");
  }
  // The same of an edit: no JSON is read, and nothing is written for a model.
  Result<> change(const std::string& path, const wire::Edit& edit) {
    const auto answer = TRY(client_->call<wire::Changed>(wire::EditFile{path, {edit}, {}}));
    const auto* changed = std::get_if<wire::Changed>(&answer);
    if (changed != nullptr && changed->total_changes == 1) return {};
    return failure(ErrorCode::Internal, "not edited");
  }
  Result<wire::CapturedOutput> spawn(const Command& command) {
    return exec_to_success(*client_, command);
  }

 private:
  explicit ToolSandbox(native::Starter starter)
      : starter_(std::move(starter)),
        place_(std::filesystem::temp_directory_path() / ("nutshell-bench-" + random_id(8))) {}

  Result<> prepare(const std::string& preparation, Fields fields) {
    SandboxSpec spec;
    spec.ttl = std::chrono::hours(1);
    spec.limits.memory_bytes = 2ULL << 30U;
    spec.limits.disk_bytes = 1ULL << 30U;
    spec.limits.millicpus = 2000;
    sandbox_.emplace(TRY(starter_.start(spec)));
    TRY(native::Starter::wait_until_started(*sandbox_));
    client_.emplace(TRY(native::Starter::connect(*sandbox_)));
    const auto restack = [](const std::vector<std::string>&) -> Result<> {
      return failure(ErrorCode::Unsupported, "not measured here");
    };
    ToolRunnerOptions options;
    options.repeats_output = true;  // every sample is the whole work
    options.wants_fields = fields == Fields::Wanted;
    runner_.emplace(TRY(ToolRunner::over({"bench",
                                          [this]() -> Result<wire::InitClient> {
                                            return wire::InitClient(
                                                TRY(native::Starter::connect(*sandbox_)));
                                          },
                                          restack, TRY(OutputStore::open(place_, "bench", {}))},
                                         options)));
    TRY(spawn({"/bin/sh", "-c", preparation}));
    return {};
  }

  native::Starter starter_;
  std::filesystem::path place_;
  std::optional<native::NativeSandbox> sandbox_;
  std::optional<wire::InitClient> client_;
  std::optional<ToolRunner> runner_;
};

struct Duel {
  std::string path;
  std::string preparation;
  std::string name;
  std::function<Result<>(ToolSandbox&, std::size_t turn)> ours;
  Command rival;
  double at_least = 0;  // how many times faster; 0: no bar
};

// Every other sample is the rival's, and negative. They are taken in batches: a process that is
// asked for each of them shares its core with the one that asks, which is no part of either side.
class DuelSampler : public Sampler {
 public:
  DuelSampler(std::unique_ptr<ToolSandbox> sandbox, Duel duel)
      : sandbox_(std::move(sandbox)), duel_(std::move(duel)) {}

  Result<double> sample() override {
    if (taken_.empty()) TRY(take_batch());
    const double value = taken_.front();
    taken_.pop_front();
    return value;
  }

 private:
  static constexpr std::size_t kBatch = 10;

  Result<> take_batch() {
    for (std::size_t i = 0; i < kBatch; ++i) {
      taken_.push_back(TRY(sample_ours()));
      taken_.push_back(-TRY(time_of([this]() -> Result<> {
        TRY(sandbox_->spawn(duel_.rival));
        return {};
      })));
    }
    return {};
  }
  Result<double> sample_ours() {
    return time_of([this] { return duel_.ours(*sandbox_, turns_++); });
  }

  std::unique_ptr<ToolSandbox> sandbox_;
  Duel duel_;
  std::deque<double> taken_;
  std::size_t turns_ = 0;
};

Result<Row> fight(const Duel& duel, std::size_t samples) {
  std::vector<Contender> contenders;
  contenders.push_back(TRY(Contender::start(duel.name, [&]() -> Result<std::unique_ptr<Sampler>> {
    return std::make_unique<DuelSampler>(TRY(ToolSandbox::start(duel.preparation)), duel);
  })));
  const std::vector<Series> both = TRY(take_turns(contenders, 2 * samples));
  Row row;
  row.path = duel.path;
  row.ours.name = duel.name;
  row.rival = Series{"spawn " + duel.rival.front(), {}};
  for (const double value : both[0].values)
    (value < 0 ? row.rival->values : row.ours.values).push_back(std::abs(value));
  if (duel.at_least > 0) row.bar = Bar{Bar::Kind::AtMost, 1 / duel.at_least};
  return row;
}

constexpr const char* kTenKilobytes =
    "seq -f 'static const int value_%g = compute(seed, limit);' 1 300 | head -c 10240 > a";
constexpr const char* kTree =
    "mkdir -p src && cd /usr/include && find . -type f -printf '%s %p\\n' | sort -k2 | "
    "awk '{ s += $1; if (s > 20000000) exit; print $2 }' | tar -cf - -T - | "
    "tar -xf - -C /workspace/src";

// The same lines, each as path:number.
Result<> compare_matches(const std::string& pattern) {
  const auto sandbox = TRY(ToolSandbox::start(kTree, Fields::Wanted));
  const auto listed = TRY(sandbox->spawn({"rg", "-n", "--no-heading", "--", pattern, "src"}));
  std::set<std::string> theirs;
  std::string_view rest = listed.output;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    theirs.insert(std::string(line.substr(0, line.find(':', line.find(':') + 1))));
  }
  std::set<std::string> ours;
  for (std::uint64_t offset = 0, total = 1; offset < total;) {
    const nlohmann::json arguments = {
        {"pattern", pattern}, {"path", "src"}, {"offset", offset}, {"max_tokens", 20000}};
    const auto page =
        nlohmann::json::parse(TRY(sandbox->call("grep", arguments.dump())).fields_json);
    total = page.at("total_matches").get<std::uint64_t>();
    const std::uint64_t before = offset;
    for (const auto& file : page.at("files")) {
      for (const auto& line : file.at("lines")) {
        ours.insert(fmt::format("{}:{}", file.at("path").get<std::string>(),
                                line.at("line").get<std::uint64_t>()));
        ++offset;
      }
    }
    if (offset == before) break;
  }
  if (ours == theirs) return {};
  return failure(ErrorCode::Internal, fmt::format("'{}': {} matches, and rg has {}", pattern,
                                                  ours.size(), theirs.size()));
}

// From the JSON arguments, taken in turn, to the text for a model.
std::function<Result<>(ToolSandbox&, std::size_t)> by_tool(std::string name,
                                                           std::vector<std::string> arguments) {
  return [=](ToolSandbox& sandbox, std::size_t turn) -> Result<> {
    TRY(sandbox.call(name, arguments[turn % arguments.size()]));
    return {};
  };
}

constexpr const char* kNoMore = "host to init to host";

std::vector<Duel> duels() {
  const auto fetch = [](ToolSandbox& sandbox, std::size_t) { return sandbox.fetch("a"); };
  const auto change = [](ToolSandbox& sandbox, std::size_t turn) {
    const bool is_even = turn % 2 == 0;
    return sandbox.change("a", {is_even ? "\n500\n" : "\n50x\n", is_even ? "\n50x\n" : "\n500\n"});
  };
  const char* thousand_lines = "seq 1 1000 > a; seq 1 1000 > b";
  const Command sed = {"sed", "-i", "s/^500$/500/", "b"};
  return {
      {"read 10 KB", kTenKilobytes, kNoMore, fetch, {"cat", "a"}, 20},
      {"read 10 KB as a model's text",
       kTenKilobytes,
       "tool read",
       by_tool("read", {R"({"path":"a"})"}),
       {"cat", "a"}},
      {"edit 1 of 1000 lines", thousand_lines, kNoMore, change, sed, 20},
      {"edit 1 of 1000 lines, from JSON to a model's text", thousand_lines, "tool edit",
       by_tool("edit", {R"({"path":"a","old":"\n500\n","new":"\n50x\n"})",
                        R"({"path":"a","old":"\n50x\n","new":"\n500\n"})"}),
       sed},
      {"ls 1000 entries",
       "mkdir d; cd d; seq -f 'file%g' 1 1000 | xargs touch",
       "tool ls",
       by_tool("ls", {R"({"path":"d","max_tokens":20000})"}),
       {"ls", "-la", "d"},
       4},
      {"grep literal, 20 MB",
       kTree,
       "tool grep",
       by_tool("grep",
               {R"({"pattern":"unsigned long long","path":"src","mode":"count","literal":true})"}),
       {"rg", "-c", "-F", "unsigned long long", "src"},
       1.3},
      {"grep regex, 20 MB",
       kTree,
       "tool grep",
       by_tool("grep", {R"({"pattern":"struct \\w+_info","path":"src","mode":"count"})"}),
       {"rg", "-c", "struct \\w+_info", "src"},
       1.3},
      {"find 50000 files",
       "for d in $(seq 1 500); do mkdir -p t/d$d; (cd t/d$d; seq -f 'f%g.c' 1 100 | xargs touch); "
       "done; touch t/d77/wanted.h",
       "tool find",
       by_tool("find", {R"({"path":"t","glob":"*.h"})"}),
       {"find", "t", "-name", "*.h"},
       1.5},
  };
}

}  // namespace

Result<std::vector<Row>> bench_tools(const Options& options) {
  std::vector<Row> rows;
  const bool has_rg = ::access("/usr/bin/rg", X_OK) == 0;
  // The same matches first: a search that misses some is fast.
  for (const char* pattern : {"unsigned long long", "struct \\w+_info"}) {
    if (!has_rg) break;
    // In a process of its own, as every sandbox of a benchmark.
    TRY(Contender::start("compare", [&]() -> Result<std::unique_ptr<Sampler>> {
      TRY(compare_matches(pattern));
      return std::make_unique<DuelSampler>(nullptr, Duel{});
    }));
  }
  for (const Duel& duel : duels()) {
    if (duel.rival.front() == "rg" && !has_rg) continue;
    const std::size_t samples =
        duel.at_least == 0 || duel.at_least >= 4 ? options.samples : options.samples / 4 + 1;
    rows.push_back(TRY(fight(duel, samples)));
  }
  return rows;
}

}  // namespace nutshell::bench
