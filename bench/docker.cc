// Sandboxes in containers against what people do with the engine's own command line and interface:
// one container for all of them, of the engine that DOCKER_HOST names and of the image in
// NUTSHELL_BENCH_IMAGE (nutshell-test, which scripts/engine makes).
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "backends/docker/container/spec_labels.h"
#include "backends/docker/engine/engine_client.h"
#include "base/defer.h"
#include "bench/benchmarks.h"
#include "bench/own_daemon.h"
#include "bench/rivals.h"
#include "bench/sandboxes.h"
#include "init/init.h"
#include "runtime/runtime.h"
#include "runtime/tool_runner.h"
#include "tools/argument_parser.h"
#include "tools/registry.h"

namespace nutshell::bench {
namespace {

std::string image() {
  const char* named = std::getenv("NUTSHELL_BENCH_IMAGE");
  return named != nullptr ? named : "nutshell-test";
}

// Where the shell would find it.
std::string docker_program() {
  const char* path = std::getenv("PATH");
  std::istringstream places(path != nullptr ? path : "/usr/bin");
  for (std::string place; std::getline(places, place, ':');) {
    const std::string program = place + "/docker";
    if (::access(program.c_str(), X_OK) == 0) return program;
  }
  return "docker";
}

class Ours : public Sampler {
 public:
  Ours(const Options& options, const std::string& id)
      : runtime_(BackendContext{&init::run_init, options.programs}), id_(id) {}

  Result<> open() {
    client_.emplace(TRY(runtime_.connect(id_)));
    ToolRunnerOptions tools;
    tools.repeats_output = true;  // every sample is the whole work
    runner_.emplace(TRY(ToolRunner::open(runtime_, id_, tools)));
    return {};
  }
  Result<> exec() {
    TRY(exec_to_success(*client_, {"/bin/true"}));
    return {};
  }
  Result<> call(const std::string& name, const std::string& arguments) {
    const Tool& tool = *TRY(find_tool(tool_registry(), name, ""));
    const ToolResult result =
        runner_->call(tool, parse_arguments(tool, arguments, Dialect::Nutshell));
    if (result.error) return failure(ErrorCode::Internal, result.text);
    return {};
  }
  void choose(std::function<Result<>(Ours&)> step) { step_ = std::move(step); }
  Result<double> sample() override {
    return time_of([this] { return step_(*this); });
  }

 private:
  Runtime runtime_;
  std::string id_;
  std::optional<wire::InitClient> client_;
  std::optional<ToolRunner> runner_;
  std::function<Result<>(Ours&)> step_;
};

MakeSampler ours(const Options& options, const std::string& id,
                 std::function<Result<>(Ours&)> step) {
  return [=]() -> Result<std::unique_ptr<Sampler>> {
    auto made = std::make_unique<Ours>(options, id);
    TRY(made->open());
    made->choose(step);
    return made;
  };
}

// Create, start with a connection of its own, read to the end: what a library does for each
// command.
Result<> exec_by_engine(docker::EngineClient& engine, const std::string& id) {
  const nlohmann::json wanted = {{"AttachStdout", true}, {"Cmd", {"/bin/true"}}};
  const auto made =
      TRY(engine.call({.method = "POST",
                       .path = fmt::format("/containers/{}/exec", docker::container_name(id)),
                       .body = wanted.dump()}));
  const auto answer = nlohmann::json::parse(made.body, nullptr, false);
  auto stream =
      TRY(engine.hijack({.method = "POST",
                         .path = fmt::format("/exec/{}/start", answer.value("Id", std::string())),
                         .body = R"({"Detach":false,"Tty":false})"}));
  std::string space(4096, '\0');
  while (TRY(stream.transport->read(space.data(), space.size(), Deadline::in(docker::kStartTime))) >
         0) {
  }
  return {};
}

MakeSampler engine_interface(const std::string& id) {
  return [id]() -> Result<std::unique_ptr<Sampler>> {
    auto engine = std::make_shared<docker::EngineClient>(
        TRY(docker::find_docker(docker::variable_of_process)));
    return timed([engine, id] { return exec_by_engine(*engine, id); })();
  };
}

MakeSampler command_line(Arguments words) {
  return timed([words = std::move(words)]() -> Result<> {
    TRY(run_captured(words));
    return {};
  });
}

struct Race {
  std::string path;
  MakeSampler ours;
  std::string rival_name;
  MakeSampler rival;
  double at_most = 0;
};

Result<Row> run(const Race& race, std::size_t samples) {
  std::vector<Contender> contenders;
  contenders.push_back(TRY(Contender::start("nutshell", race.ours)));
  contenders.push_back(TRY(Contender::start(race.rival_name, race.rival)));
  std::vector<Series> found = TRY(take_turns(contenders, samples));
  return Row{race.path, "us", found[0], found[1], Bar{Bar::Kind::AtMost, race.at_most}, {}};
}

Arguments docker_run() {
  return {docker_program(),
          "run",
          "--rm",
          "--network=none",
          "--read-only",
          "--memory=512m",
          "--memory-swap=512m",
          "--cpus=1",
          "--pids-limit=64",
          "--cap-drop=ALL",
          "--security-opt=no-new-privileges",
          "--user=1000:1000",
          "--tmpfs=/tmp:size=128m",
          "--tmpfs=/workspace:size=384m",
          image(),
          "true"};
}

std::vector<Race> races_with(const Options& options, const std::string& id) {
  const std::string name = docker::container_name(id);
  const auto exec = [](Ours& one) { return one.exec(); };
  const auto tool = [](std::string which, std::string arguments) {
    return [=](Ours& one) { return one.call(which, arguments); };
  };
  const auto docker_exec = [&name](Arguments words) {
    Arguments all = {docker_program(), "exec", name};
    all.insert(all.end(), words.begin(), words.end());
    return command_line(all);
  };
  const std::string program = (options.programs / "nutshell").native();
  return {
      {"container exec", ours(options, id, exec), "docker exec", docker_exec({"true"}), 1.0 / 20},
      {"container exec", ours(options, id, exec), "engine exec", engine_interface(id), 1.0 / 12},
      {"read 10 KB", ours(options, id, tool("read", R"({"path":"file"})")), "docker exec cat",
       docker_exec({"cat", "/workspace/file"}), 1.0 / 100},
      {"ls", ours(options, id, tool("ls", "{}")), "docker exec ls",
       docker_exec({"ls", "/workspace"}), 1.0 / 100},
      {"grep", ours(options, id, tool("grep", R"({"pattern":"line 77"})")), "docker exec grep",
       docker_exec({"grep", "-rn", "line 77", "/workspace"}), 1.0 / 100},
      {"nutshell exec in a container", command_line({program, "exec", id, "--", "true"}),
       "docker exec", docker_exec({"true"}), 1.0 / 20},
      {"run in a container",
       command_line({program, "run", "--backend", "docker", "--image", image(), "--", "true"}),
       "docker run --rm", command_line(docker_run()), 1.15},
  };
}

}  // namespace

namespace {

// A tool of a sandbox that a daemon keeps, over one connection to the daemon.
class ToolByHttp : public Sampler {
 public:
  ToolByHttp(const std::string& socket, std::string target, std::string arguments)
      : caller_(socket), target_(std::move(target)), arguments_(std::move(arguments)) {}
  Result<double> sample() override {
    return time_of([this]() -> Result<> {
      TRY(caller_.call("POST", target_, arguments_));
      return {};
    });
  }

 private:
  DaemonCaller caller_;
  std::string target_;
  std::string arguments_;
};

Result<std::vector<Row>> races_of_tools(const Options& options, const OwnDaemon& daemon) {
  DaemonCaller caller(daemon.socket());
  const std::string id = TRY(caller.acquire());
  const Defer released([&] { (void)caller.release(id); });  // else it ends with the daemon
  const std::string place = fmt::format("/v1/sandboxes/{}", id);
  TRY(caller.call(
      "POST", place + "/exec",
      R"({"argv": ["sh", "-c", "for i in $(seq 1000); do echo line $i; done > file"]})"));
  const auto tool = [&](const std::string& name, const std::string& arguments) -> MakeSampler {
    return [=, socket = daemon.socket()]() -> Result<std::unique_ptr<Sampler>> {
      return std::make_unique<ToolByHttp>(socket, place + "/tools/" + name, arguments);
    };
  };
  const auto rival = [&](Arguments words) {
    Arguments all = {docker_program(), "exec", docker::container_name(id)};
    all.insert(all.end(), words.begin(), words.end());
    return command_line(all);
  };
  const std::vector<Race> races = {
      {"read 10 KB by HTTP", tool("read", R"({"path":"file"})"), "docker exec cat",
       rival({"cat", "/workspace/file"}), 1.0 / 100},
      {"ls by HTTP", tool("ls", "{}"), "docker exec ls", rival({"ls", "/workspace"}), 1.0 / 100},
      {"grep by HTTP", tool("grep", R"({"pattern":"line 77"})"), "docker exec grep",
       rival({"grep", "-rn", "line 77", "/workspace"}), 1.0 / 100},
      {"bash by HTTP", tool("bash", R"({"command":"true"})"), "docker exec sh -c",
       rival({"sh", "-c", "true"}), 1.0 / 12},
  };
  std::vector<Row> rows;
  for (const Race& race : races)
    rows.push_back(TRY(run(race, options.samples)));
  return rows;
}

Result<std::vector<Row>> races_of_daemon(const Options& options) {
  const OwnDaemon daemon = TRY(OwnDaemon::start(
      options.programs,
      fmt::format("backend = \"docker\"\nimage = \"{}\"\nmin_idle = 1\nmax_idle = 2\n"
                  "max_total = 4\n",
                  image())));
  const MakeSampler acquire = [socket = daemon.socket()]() -> Result<std::unique_ptr<Sampler>> {
    return std::make_unique<Acquire>(socket);
  };
  std::vector<Row> rows = TRY(races_of_tools(options, daemon));
  rows.push_back(TRY(run(
      {"acquire a container", acquire, "docker run --rm", command_line(docker_run()), 1.0 / 100},
      options.samples)));
  return rows;
}

Result<std::vector<Row>> races_of_container(const Options& options) {
  const std::string program = (options.programs / "nutshell").native();
  std::string id =
      TRY(run_captured({program, "create", "--backend", "docker", "--image", image()})).output;
  while (id.ends_with('\n'))
    id.pop_back();
  const Defer destroyed([&] { (void)run_captured({program, "destroy", id}); });  // its ttl is left
  TRY(run_captured({program, "exec", id, "--", "sh", "-c",
                    "for i in $(seq 1000); do echo line $i; done > file"}));
  std::vector<Row> rows;
  for (const Race& race : races_with(options, id))
    rows.push_back(TRY(run(race, options.samples)));
  return rows;
}

}  // namespace

Result<std::vector<Row>> bench_docker(const Options& options) {
  std::vector<Row> rows = TRY(races_of_container(options));
  for (Row& row : TRY(races_of_daemon(options)))
    rows.push_back(std::move(row));
  return rows;
}

}  // namespace nutshell::bench
