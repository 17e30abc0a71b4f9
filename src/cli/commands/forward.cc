#include "cli/commands/forward.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/daemon_calls.h"
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
  nutshell forward $ID 8080 --url      a URL of the daemon instead, until the sandbox ends
  nutshell forward $ID --list          the URLs of this sandbox
  nutshell forward $ID 8080 --close    takes the URL away

It works with and without a network for the sandbox, and on every backend. Whoever has a URL may talk to
the server: it has a token. Only programs of this machine reach a port at 127.0.0.1.)";

struct ForwardFlags {
  std::string id;
  std::vector<std::string> ports;
  bool wants_url = false;
  bool is_listing = false;
  bool is_closing = false;
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

std::string place_of(const std::string& id, const std::string& what = {}) {
  return fmt::format("/v1/sandboxes/{}/ports{}", id, what);
}

// The port's URL; only its path for a daemon that is reached over a Unix socket.
std::string url_of(const Program& program, const Json& port) {
  const DaemonAccess& access = *program.runtime.context().daemon;
  std::string url = access.url;
  while (url.ends_with('/'))
    url.pop_back();
  return url + port.at("path").get<std::string>();
}

void print_port(const Program& program, const ForwardFlags& flags, const Json& port) {
  if (flags.is_json) return print_json(port);
  print_out("{}\n", url_of(program, port));
}

Result<int> ask_daemon(Program& program, const ForwardFlags& flags, const std::string& id) {
  const auto ports = flags.is_listing ? std::vector<ForwardedPort>() : TRY(ports_of(flags));
  return with_daemon(program, [&](api::ApiClient& daemon) -> Result<int> {
    if (flags.is_listing) {
      const Json listed = TRY(daemon.ask("GET", place_of(id)));
      for (const Json& port : listed.at("ports"))
        print_port(program, flags, port);
      return 0;
    }
    for (const ForwardedPort& port : ports) {
      if (flags.is_closing) {
        TRY(daemon.ask("DELETE", place_of(id, fmt::format("/{}", port.inside))));
        continue;
      }
      const Json body{{"port", port.inside}};
      print_port(program, flags, TRY(daemon.ask("POST", place_of(id), body.dump())));
    }
    return 0;
  });
}

Result<int> forward(Program& program, const ForwardFlags& flags) {
  const std::string chosen = TRY(chosen_sandbox(program, flags.id));
  const SandboxStatus status = TRY(program.runtime.find(chosen));
  if (flags.wants_url || flags.is_listing || flags.is_closing)
    return ask_daemon(program, flags, status.id);
  std::vector<ForwardedPort> ports = TRY(ports_of(flags));
  if (status.state == SandboxState::Paused) {
    return failure(ErrorCode::Conflict, fmt::format("the sandbox is paused: 'nutshell resume {}' "
                                                    "lets its servers answer",
                                                    status.id));
  }
  for (ForwardedPort& port : ports) {
    TRY(listen(port));
    if (flags.is_json) {
      print_json(Json{{"sandbox", status.id},
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
  const auto url = command.add_flag("--url", flags->wants_url,
                                    "Print a URL of the daemon that leads to the server");
  const auto list = command.add_flag("--list", flags->is_listing, "Print the URLs of the sandbox");
  const auto close = command.add_flag("--close", flags->is_closing, "Take the port's URL away");
  (void)url.excludes(list).excludes(close);
  (void)list.excludes(close);
  command.add_flag("--json", flags->is_json, "Print a JSON object for each port");
  command.footer(kExamples);
  command.callback([flags, &program] {
    program.chosen = [flags, &program] { return forward(program, *flags); };
  });
}

}  // namespace nutshell::cli
