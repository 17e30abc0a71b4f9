#include "cli/commands/forward.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/port_forward.h"
#include "cli/print.h"
#include "cli/sandbox_choice.h"

namespace nutshell::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  nutshell exec $ID -- sh -c 'python3 -m http.server 8080 >/dev/null 2>&1 &'
  nutshell forward $ID 8080            http://127.0.0.1:8080 is now that server, until Ctrl-C
  nutshell forward $ID 8080:3000 5432  two ports; the first one at 127.0.0.1:3000
  nutshell forward $ID 8080:0 --json   any free port of this machine; the answer says which

It works with and without a network for the sandbox, and on every backend. Only programs of this machine
reach the port.)";

struct ForwardFlags {
  std::string id;
  std::vector<std::string> ports;
  bool is_json = false;
};

Result<std::vector<ForwardedPort>> ports_of(const ForwardFlags& flags) {
  if (flags.ports.empty()) {
    return failure(ErrorCode::InvalidArgument,
                   "which port? 'nutshell forward ID 8080' reaches the server that listens on "
                   "port 8080 in the sandbox");
  }
  std::vector<ForwardedPort> ports;
  for (const std::string& text : flags.ports)
    ports.push_back(TRY(parse_forwarded_port(text)));
  return ports;
}

Result<int> forward(Program& program, const ForwardFlags& flags) {
  const std::string chosen = TRY(chosen_sandbox(program, flags.id));
  const SandboxStatus status = TRY(program.runtime.find(chosen));
  std::vector<ForwardedPort> ports = TRY(ports_of(flags));
  if (status.state == SandboxState::Paused) {
    return failure(ErrorCode::Conflict, fmt::format("the sandbox is paused: 'nutshell resume {}' "
                                                    "lets its servers answer",
                                                    status.id));
  }
  for (ForwardedPort& port : ports) {
    TRY(listen(port));
    if (flags.is_json) {
      print_json(nlohmann::ordered_json{{"sandbox", status.id},
                                        {"port", port.inside},
                                        {"address", "127.0.0.1"},
                                        {"local", port.local}});
    } else {
      print_out("http://127.0.0.1:{} is port {} of {}\n", port.local, port.inside, status.id);
    }
  }
  if (std::fflush(stdout) != 0) return syscall_failure("write the output");
  TRY(forward_ports(program.runtime, status.id, ports));
  return 0;
}

}  // namespace

void add_forward(const CommandLine& app, Program& program) {
  const CommandLine command = app.add_command(
      "forward", "Reach a server that runs in a sandbox, at a port of this machine");
  auto flags = std::make_shared<ForwardFlags>();
  command.add_option("ID", flags->id, "The sandbox: id or name").required();
  command.add_option("PORT", flags->ports,
                     "The server's port; PORT:LOCAL: another one at this machine, 0: any free one");
  command.add_flag("--json", flags->is_json, "Print a JSON object for each port");
  command.footer(kExamples);
  command.callback([flags, &program] {
    program.chosen = [flags, &program] { return forward(program, *flags); };
  });
}

}  // namespace nutshell::cli
