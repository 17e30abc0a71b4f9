#include "daemon/daemon.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "base/environment.h"
#include "base/file.h"
#include "base/random_id.h"
#include "base/socket.h"
#include "base/state_directory.h"
#include "base/user_directory.h"
#include "core/daemon_access.h"
#include "daemon/activation.h"
#include "daemon/grpc_door.h"
#include "daemon/log.h"
#include "daemon/mcp_config.h"
#include "daemon/memory_trim.h"
#include "daemon/quotas.h"
#include "daemon/reload.h"
#include "daemon/server_limits.h"
#include "daemon/spans.h"
#include "http/tls/tls.h"
#include "roche/discovery.h"
#include "roche/sandbox_request.h"
#include "server/http/port_gateway.h"
#include "service/pools/pools.h"
#include "service/state/recovery.h"

namespace nutshell::daemon {
namespace {

namespace fs = std::filesystem;

// Raises the limit of descriptors, which connections and sandboxes need.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);  // the old limit only means fewer connections
}

// Fills in defaults that depend on the user.
std::string value_if_empty(std::string_view key) {
  if (key == "state.directory") return user_state_directory().value_or(fs::path());
  const auto user = open_user_directory();
  return key == "socket.path" && user ? (*user / kDaemonSocket).native() : std::string();
}

server::GateRules rules_of(const Config& config) {
  server::GateRules rules;
  rules.tokens = config.tokens;
  rules.certificates = config.certificates;
  rules.hosts = config.texts("tcp.hosts");
  rules.origins = config.texts("tcp.origins");
  rules.user = ::geteuid();
  return rules;
}

Result<audit::Durability> durability_of(const Config& config) {
  const std::string& word = config.text("audit.durability");
  if (word == "kernel") return audit::Durability::Kernel;
  if (word == "group") return audit::Durability::Group;
  if (word == "each") return audit::Durability::Each;
  return failure(ErrorCode::InvalidArgument, "audit.durability must be kernel, group or each");
}

Result<UniqueFd> block_signals() {
  sigset_t ours;
  sigemptyset(&ours);
  for (const int one : {SIGTERM, SIGINT, SIGHUP})
    sigaddset(&ours, one);
  pthread_sigmask(SIG_BLOCK, &ours, nullptr);
  std::signal(SIGPIPE, SIG_IGN);  // NOLINT(concurrency-mt-unsafe): one thread so far
  UniqueFd signals(::signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals) return syscall_failure("signalfd");
  return signals;
}

}  // namespace

Result<Config> load_config(const Command& command) {
  Config config = TRY(Config::load(command.config));
  if (const std::string state = environment_variable("NUTSHELL_STATE_DIR"); !state.empty()) {
    config.override_with("state.directory", state, "NUTSHELL_STATE_DIR");
  }
  if (!command.socket.empty()) config.override_with("socket.path", command.socket, "--socket");
  if (!command.state.empty()) config.override_with("state.directory", command.state, "--state");
  if (!command.roche_port.empty()) {
    config.override_with("roche.port", command.roche_port, "--roche-port");
  }
  TRY(check_doors(config));
  TRY(durability_of(config));
  TRY(mcp_options(config));
  TRY(roche::Choices::parse(config.text("roche.docker"), config.texts("roche.images")));
  return config;
}

namespace {

// The value that is in force; a list has a comma between its items.
std::string value_in_force(const Config& config, const std::string& key, std::string value) {
  if (value.empty()) value = value_if_empty(key);
  if (value.empty())
    value = default_quota_text(config, user_state_directory().value_or(fs::path()), key);
  std::replace(value.begin(), value.end(), '\n', ',');
  return value;
}

}  // namespace

std::string describe_as_json(const Config& config) {
  using Json = nlohmann::ordered_json;
  Json settings = Json::object();
  for (const auto& [key, setting] : config.settings())
    settings[key] = {{"value", value_in_force(config, key, setting.value)},
                     {"origin", setting.origin}};
  const Json object{{"settings", settings},
                    {"tokens", config.tokens.size()},
                    {"certificates", config.certificates.size()},
                    {"pools", config.pools.size()},
                    {"quotas", config.quotas.size()}};
  return object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string describe(const Config& config) {
  std::string text;
  for (const auto& [key, setting] : config.settings()) {
    const std::string value = value_in_force(config, key, setting.value);
    text += fmt::format("{:<28} {:<40} {}\n", key, value.empty() ? "-" : value, setting.origin);
  }
  text += fmt::format("{} tokens, {} certificates, {} pools, {} quotas\n", config.tokens.size(),
                      config.certificates.size(), config.pools.size(), config.quotas.size());
  return text;
}

Result<std::string> recover(const Command& command) {
  const Config config = TRY(load_config(command));
  fs::path directory = config.text("state.directory");
  if (directory.empty()) directory = TRY(user_state_directory());
  const service::Recovery recovery = TRY(service::recover_state(directory));
  if (recovery.kept.empty()) {
    return fmt::format("the state file in {} is sound: nothing was changed\n", directory.native());
  }
  std::string text = fmt::format("the damaged state file is kept as {}\n", recovery.kept.native());
  for (const service::Recovery::Table& table : recovery.tables) {
    text += fmt::format("{:<10} {} rows go on{}\n", table.name, table.saved,
                        table.is_whole ? "" : "; others cannot be read");
  }
  return text;
}

Result<std::unique_ptr<Daemon>> Daemon::start(const Command& command) {
  const Config config = TRY(load_config(command));
  std::unique_ptr<Daemon> daemon(new Daemon(command));
  raise_descriptor_limit();
  daemon->signals_ = TRY(block_signals());
  if (command.is_private) TRY(daemon->watch_parent());
  TRY(daemon->bind_tcp(config));  // a port that is taken ends the start before anything is adopted
  TRY(daemon->bind_roche(config));
  TRY(daemon->open(config));
  TRY(daemon->listen(config));
  daemon->config_ = config;
  return daemon;
}

Result<> Daemon::watch_parent() {
  const pid_t parent = ::getppid();
  parent_ = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, parent, 0)));
  if (!parent_) return syscall_failure("pidfd_open");
  // The parent may have died before it was watched.
  if (::getppid() != parent) return failure(ErrorCode::Cancelled, "the parent is gone");
  return make_private();
}

// Makes a runtime directory that no other daemon of the user shares.
Result<> Daemon::make_private() {
  private_directory_ = TRY(open_user_directory()) / ("private-" + random_id(12));
  ::setenv("NUTSHELL_RUNTIME_DIR", private_directory_.c_str(), 1);  // NOLINT: before any thread
  TRY(open_user_directory());
  return {};
}

Result<> Daemon::open(const Config& config) {
  service::ServiceOptions options;
  options.backends.programs = command_.programs;
  options.backends.show_progress = [](const std::string& line) {
    if (line.ends_with('\n')) log_line(Level::Warning, line.substr(0, line.size() - 1));
  };
  options.state_directory = config.text("state.directory");
  if (options.state_directory.empty()) {
    options.state_directory =
        command_.is_private ? private_directory_ / "state" : TRY(user_state_directory());
  }
  options.key_file = config.text("state.key_file");
  std::error_code made;
  fs::create_directories(options.state_directory.parent_path(), made);
  options.audit.durability = TRY(durability_of(config));
  options.audit.tenant_bytes = config.number("audit.tenant_bytes");
  options.audit.secret_names = config.texts("audit.secret_names");
  options.rules = tenant_rules(config, options.state_directory);
  state_directory_ = options.state_directory;
  options.longest_life = config.seconds("limits.longest_life_seconds");
  options.pools = config.pools;
  options.most_waiting = config.number("limits.workers") / 2;
  options.notice = [](std::string_view line) { log_line(Level::Info, line); };
  service_ = TRY(service::Service::open(std::move(options)));
  gate_ = std::make_unique<server::Gate>(rules_of(config));
  exporter_ = TRY(open_exporter(config));
  server::Api::Options api{*service_, *gate_};
  api.spans = exporter_.get();
  api.more_metrics = [exporter = exporter_.get()] { return metrics_of(exporter); };
  if (config.is_true("log.requests")) api.log = log_request;
  if (config.is_true("mcp.enabled")) {
    mcp_ = TRY(mcp::McpRoutes::make(*service_, TRY(mcp_options(config))));
    api.more = mcp_->routes();
  }
  api_ = std::make_unique<server::Api>(std::move(api));
  return {};
}

Result<std::vector<http::Endpoint>> Daemon::endpoints(const Config& config) {
  std::vector<http::Endpoint> all;
  for (UniqueFd& passed : take_passed_sockets())
    all.push_back({std::move(passed)});
  socket_ = config.text("socket.path");
  if (socket_.empty()) socket_ = TRY(open_user_directory()) / kDaemonSocket;
  if (all.empty()) {
    all.push_back({TRY(http::listen_on_unix(socket_))});
    owns_socket_ = true;
  }
  if (tcp_) all.push_back(std::move(*tcp_));
  tcp_.reset();
  return all;
}

Result<> Daemon::bind_tcp(const Config& config) {
  const std::uint64_t port = config.number("tcp.port");
  if (port == 0) return {};
  if (port > 65535) return failure(ErrorCode::InvalidArgument, "tcp.port is at most 65535");
  http::Endpoint tcp{
      TRY(http::listen_on_tcp(config.text("tcp.address"), static_cast<std::uint16_t>(port)))};
  if (!config.text("tcp.certificate").empty()) {
    tcp.make_transport =
        TRY(http::tls_server({config.text("tcp.certificate"), config.text("tcp.key"),
                              config.text("tcp.client_authority")}));
  }
  tcp_ = std::move(tcp);
  return {};
}

// Only at 127.0.0.1: the kernel tells which user of this machine a client there is.
Result<> Daemon::bind_roche(const Config& config) {
  const std::uint64_t port = config.number("roche.port");
  if (port == 0) return {};
  if (port > 65535) return failure(ErrorCode::InvalidArgument, "roche.port is at most 65535");
  roche_ = TRY(http::listen_on_tcp("127.0.0.1", static_cast<std::uint16_t>(port)));
  TRY(set_nonblocking(roche_.get()));
  discovery_ = config.text("roche.discovery");
  if (discovery_.empty()) discovery_ = TRY(roche::discovery_file());
  return {};
}

Result<> Daemon::listen(const Config& config) {
  http::ServerLimits limits = server_limits(config);
  limits.admit = [gate = gate_.get(), service = service_.get()](const http::RequestHead& head,
                                                                const http::Remote& remote) {
    if (auto admission = server::admission_of_port(*service, head)) return std::move(*admission);
    return gate->admission_of(head, remote);
  };
  limits.are_quick = [](const http::RequestHead& head) {
    return head.method == "GET" && head.target.path == "/healthz";
  };
  drain_time_ = config.seconds("drain_seconds");
  grpc_ = TRY(open_grpc(config, *service_, *gate_, exporter_.get(), std::move(roche_)));
  if (grpc_) grpc_socket_ = config.text("grpc.socket");
  if (!discovery_.empty()) {
    TRY(roche::write_discovery(
        discovery_, {::getpid(), static_cast<std::uint16_t>(config.number("roche.port"))}));
  }
  server_ = TRY(http::Server::start(
      TRY(endpoints(config)), [this](http::Exchange& exchange) { api_->answer(exchange); },
      limits));
  log_line(Level::Info, fmt::format("ready on {}", socket_));
  tell_starter("READY=1");
  return {};
}

Result<> Daemon::run() {
  constexpr int kLookMs = 1000;
  MemoryTrim memory;
  for (;;) {
    std::array<pollfd, 2> watched = {pollfd{signals_.get(), POLLIN, 0},
                                     pollfd{parent_.get(), POLLIN, 0}};
    const int ready = ::poll(watched.data(), watched.size(), kLookMs);
    if (ready < 0 && errno != EINTR) return syscall_failure("poll");
    memory.look();
    if (ready <= 0) continue;
    if (watched[1].revents != 0) {
      drain_time_ = {};  // the parent was the only client
      break;
    }
    signalfd_siginfo signal{};
    if (::read(signals_.get(), &signal, sizeof signal) != sizeof signal) continue;
    if (signal.ssi_signo != SIGHUP) break;
    reload();
  }
  drain();
  return {};
}

// If the file has an error, nothing changes.
void Daemon::reload() {
  auto config = load_config(command_);
  if (!config) {
    log_line(Level::Error, fmt::format("reload: nothing changed: {}", config.error().message));
    return;
  }
  const ConfigChanges changes = compare(*config_, *config);
  for (const std::string& what : changes.taken_over)
    log_line(Level::Info, "reload: " + what);
  for (const std::string& what : changes.need_restart)
    log_line(Level::Warning, fmt::format("reload: {}: needs a restart", what));
  service_->set_rules(tenant_rules(*config, state_directory_));
  drain_time_ = config->seconds("drain_seconds");
  gate_->replace(rules_of(*config));
  server_->admit_again();
  std::set<std::string> pools;
  for (const service::PoolSpec& pool : config->pools) {
    pools.insert(pool.name);
    if (auto defined = service_->pools().define(pool); !defined) {
      log_line(Level::Error,
               fmt::format("reload: pool {}: {}", pool.name, defined.error().message));
    }
  }
  service_->pools().retire_all_but(pools);
  config_ = std::move(*config);
  log_line(Level::Info, "reloaded");
}

void Daemon::drain() {
  tell_starter("STOPPING=1");
  log_line(Level::Info, "draining");
  const Deadline deadline = Deadline::in(drain_time_);
  service_->pools().stop_waiting();  // nobody can release sandboxes any more
  // Refuses new connections first; running requests have until the deadline.
  bool is_grpc_clean = true;
  std::thread other([&] { is_grpc_clean = !grpc_ || grpc_->drain(deadline); });
  const bool is_http_clean = server_->drain(deadline);
  other.join();
  const bool is_clean = is_http_clean && is_grpc_clean;
  service_->drain(deadline);
  if (command_.is_private) end_sandboxes();
  log_line(is_clean ? Level::Info : Level::Warning,
           is_clean ? "drained" : "drained; requests that did not end were cut");
}

void Daemon::end_sandboxes() {
  const service::Caller caller{"local", "private daemon", service::HostFiles::Allowed};
  for (;;) {
    const auto page = service_->list(caller, {});
    if (!page || page->sandboxes.empty()) return;
    bool any = false;
    for (const service::SandboxView& view : page->sandboxes)
      any = service_->destroy(caller, view.id).has_value() || any;
    if (!any) return;
  }
}

Daemon::~Daemon() {
  grpc_.reset();
  if (!grpc_socket_.empty()) ::unlink(grpc_socket_.c_str());
  if (!discovery_.empty()) roche::remove_discovery(discovery_, ::getpid());
  server_.reset();
  if (owns_socket_) ::unlink(socket_.c_str());
  api_.reset();
  mcp_.reset();
  service_.reset();
  if (private_directory_.empty()) return;
  std::error_code ignored;  // the user's next gc removes the rest
  fs::remove_all(private_directory_, ignored);
}

}  // namespace nutshell::daemon
