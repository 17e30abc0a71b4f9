// A command in a running sandbox by the clients in other languages, against the library's own exec.
#include <fmt/format.h>

#include <cstdlib>

#include "bench/benchmarks.h"
#include "bench/mcp_process.h"
#include "bench/own_daemon.h"
#include "bench/sandboxes.h"

namespace nutshell::bench {
namespace {

constexpr double kMostTimes = 1.6;
constexpr const char* kClients = "NUTSHELL_BENCH_CLIENTS";

struct Client {
  std::string name;
  std::vector<std::string> command;
};

std::vector<std::string> split(std::string_view text, char between) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = text.find(between);
    if (end != 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return parts;
}

// Parses "NAME=PROGRAM ARGUMENT…;NAME=…", which bench/clients/run writes.
Result<std::vector<Client>> read_clients() {
  const char* text = std::getenv(kClients);  // NOLINT(concurrency-mt-unsafe): one thread
  std::vector<Client> clients;
  for (const std::string& part : split(text == nullptr ? "" : text, ';')) {
    const std::size_t equals = part.find('=');
    std::vector<std::string> command = split(
        equals == std::string::npos ? "" : std::string_view(part).substr(equals + 1), ' ');
    if (command.empty()) return failure(ErrorCode::InvalidArgument, part + ": no NAME=PROGRAM");
    clients.push_back({part.substr(0, equals), std::move(command)});
  }
  if (clients.empty())
    return failure(ErrorCode::InvalidArgument, fmt::format("{} is empty; use bench/clients/run", kClients));
  return clients;
}

class LibraryExec : public Sampler {
 public:
  explicit LibraryExec(RunningSandbox sandbox) : sandbox_(std::move(sandbox)) {}
  Result<double> sample() override {
    return time_of([this]() -> Result<> {
      TRY(sandbox_.exec({"/bin/true"}));
      return {};
    });
  }

 private:
  RunningSandbox sandbox_;
};

// The client runs the command when it reads a line, and answers how long it took by its own clock.
class ClientExec : public Sampler {
 public:
  explicit ClientExec(McpProcess process) : process_(std::move(process)) {}
  Result<double> sample() override {
    const std::string answer = TRY(process_.exchange("go"));
    char* end = nullptr;
    const double taken = std::strtod(answer.c_str(), &end);
    if (end == answer.c_str() || *end != '\0') return failure(ErrorCode::Corrupt, answer);
    return taken;
  }

 private:
  McpProcess process_;
};

}  // namespace

Result<std::vector<Row>> bench_sdk(const Options& options) {
  const OwnDaemon daemon = TRY(OwnDaemon::start(options.programs));
  const std::string socket = daemon.socket();
  ::setenv("NUTSHELL_DAEMON", socket.c_str(), 1);  // NOLINT(concurrency-mt-unsafe): one thread
  std::vector<Row> rows;
  for (const Client& client : TRY(read_clients())) {
    std::vector<Contender> contenders;
    contenders.push_back(
        TRY(Contender::start("SDK", [&client]() -> Result<std::unique_ptr<Sampler>> {
          return std::make_unique<ClientExec>(TRY(McpProcess::start(client.command, "/")));
        })));
    contenders.push_back(
        TRY(Contender::start("library", []() -> Result<std::unique_ptr<Sampler>> {
          return std::make_unique<LibraryExec>(TRY(RunningSandbox::start()));
        })));
    std::vector<Series> found = TRY(take_turns(contenders, options.samples));
    rows.push_back({"sdk " + client.name + " true", "us", found[0], found[1],
                    Bar{Bar::Kind::AtMost, kMostTimes}, {}});
  }
  return rows;
}

}  // namespace nutshell::bench
