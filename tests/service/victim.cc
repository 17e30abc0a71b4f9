// A process that does one thing to a service and says what it was told, to be killed on the way:
//   service_victim PROGRAMS STATE WORKSPACE STEP...
// Each step prints one line when it is acknowledged.
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

#include "base/file.h"
#include "init/init.h"
#include "service/pools/pools.h"
#include "service/sandboxes/sandbox_files.h"
#include "service/service.h"
#include "service/sessions/sessions.h"

namespace nutshell::service {
namespace {

using namespace std::chrono_literals;

void say(const std::string& line) {
  (void)write_all(STDOUT_FILENO, line + "\n");  // whoever does not read cannot be told
}

ExecRequest shell(const std::string& script) {
  ExecRequest request;
  request.argv = {"/bin/sh", "-c", script};
  return request;
}

class Victim {
 public:
  Victim(Service& service, std::string workspace)
      : service_(service), workspace_(std::move(workspace)) {}

  Result<> step(const std::string& name) {
    if (name == "create") return create();
    if (name == "exec") return exec();
    if (name == "detach") return detach();
    if (name == "copy") return copy();
    if (name == "apply") return apply();
    if (name == "acquire") return acquire();
    if (name == "extend") return extend();
    if (name == "fork") return fork();
    if (name == "release") return service_.pools().release(caller_, id_);
    if (name == "destroy") return service_.destroy(caller_, id_);
    if (name == "session") return session();
    return failure(ErrorCode::InvalidArgument, "no step " + name);
  }

 private:
  Result<> create() {
    SandboxSpec spec = spec_;
    spec.workspace = workspace_;
    id_ = TRY(service_.create(caller_, {spec, "the key"})).id;
    say("created " + id_);
    return {};
  }
  Result<> exec() {
    wire::CapturedOutput io;
    const auto reply = TRY(service_.exec(caller_, id_, shell("echo ran >> ran; echo out"), {}, io));
    if (reply.result.outcome != Outcome::Exited) return failure(ErrorCode::Unavailable, "lost");
    say(fmt::format("ran {} {}", reply.audit_id, reply.result.exit_code));
    return {};
  }
  Result<> detach() {
    const auto begun = TRY(service_.start_exec(caller_, id_, shell("sleep 0.2; echo x"), {}));
    say("detached " + begun.exec_id);
    wire::CapturedOutput io;
    const auto ended =
        TRY(service_.follow_exec(caller_, id_, begun.exec_id, {}, Deadline::in(20s), io));
    if (ended.ending) say(fmt::format("ended {} {}", begun.exec_id, ended.audit_id));
    return {};
  }
  Result<> copy() {
    std::size_t parts = 20;
    TRY(service_.files().write(caller_, id_, {"/workspace/copied", 0644, 0, 0},
                               [&parts](std::size_t most) -> Result<std::string> {
                                 if (parts == 0) return std::string();
                                 --parts;
                                 return std::string(std::min<std::size_t>(most, 1000), 'c');
                               }));
    say("copied");
    return {};
  }
  Result<> apply() {
    wire::CapturedOutput io;
    TRY(service_.exec(caller_, id_, shell("echo new > new; echo changed > old"), {}, io));
    TRY(service_.files().apply(caller_, id_, {}));
    say("applied");
    return {};
  }
  Result<> acquire() {
    PoolSpec pool;
    pool.name = "p";
    pool.spec = spec_;
    pool.min_idle = 1;
    pool.max_idle = 2;
    pool.max_total = 3;
    TRY(service_.pools().define(pool));
    TRY(service_.pools().warm(caller_, "p", Deadline::in(20s)));
    id_ = TRY(service_.pools().acquire(caller_, {.pool = "p"})).id;
    say("acquired " + id_);
    return {};
  }
  Result<> fork() {
    wire::CapturedOutput io;
    TRY(service_.exec(caller_, id_, shell("echo one > one; echo two > two"), {}, io));
    say("forked " + TRY(service_.fork(caller_, id_)).id);
    return {};
  }
  Result<> extend() {
    TRY(service_.extend(caller_, id_, 2h));
    say("extended");
    return {};
  }
  Result<> session() {
    SessionRequest request;
    request.name = "s";
    request.spec = spec_;
    request.setup = {{"/bin/sh", "-c", "echo setup >> /workspace/setup"}};
    const auto view = TRY(service_.sessions().ensure(caller_, request));
    id_ = view.sandbox_id;
    say("session " + id_);
    return {};
  }

  Service& service_;
  std::string workspace_;
  std::string id_;
  SandboxSpec spec_;
  Caller caller_{"alice", "victim", HostFiles::Allowed};
};

Result<> run(const std::vector<std::string>& words) {
  ServiceOptions options;
  options.backends = {&init::run_init, words.at(0)};
  options.state_directory = words.at(1);
  options.audit.durability = audit::Durability::Kernel;
  const auto service = TRY(Service::open(options));
  Victim victim(*service, words.at(2));
  for (std::size_t i = 3; i < words.size(); ++i) {
    const auto done = victim.step(words[i]);
    if (!done) say(fmt::format("failed {}: {}", words[i], done.error().message));
  }
  say("over");
  // Nothing is put away: the next process finds it as it is.
  std::raise(SIGKILL);
  return {};
}

}  // namespace
}  // namespace nutshell::service

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() < 4) return 2;
  const auto done = nutshell::service::run(words);
  if (!done) (void)nutshell::write_all(STDERR_FILENO, done.error().message + "\n");
  return 1;
}
