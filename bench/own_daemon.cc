#include "bench/own_daemon.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/file.h"
#include "runtime/runtime.h"

namespace nutshell::bench {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr const char* kConfig = R"([log]
requests = false
[machine]
memory_overcommit = 100000
cpu_overcommit = 1000000
disk_overcommit = 100000
process_overcommit = 10000
[[quotas]]
tenant = "local"
sandboxes = 5000
)";

Result<std::string> text_at(const std::string& json, const char* key) {
  const auto parsed = nlohmann::json::parse(json, nullptr, false);
  if (!parsed.is_object()) return failure(ErrorCode::Corrupt, "not JSON: " + json);
  return parsed.value(key, std::string());
}

}  // namespace

Result<OwnDaemon> OwnDaemon::start(const fs::path& programs, const std::string& pool) {
  std::string pattern = "/tmp/nutshell-bench-XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) return syscall_failure("mkdtemp");
  OwnDaemon daemon(pattern);
  ::setenv("NUTSHELL_RUNTIME_DIR", pattern.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  TRY(write_file(daemon.place_ / "c.toml",
                 fmt::format("{}[[pools]]\nname = \"bench\"\n{}", kConfig, pool)));
  const std::string program = programs / "nutshelld";
  const std::string config = daemon.place_ / "c.toml";
  const std::string state = daemon.place_ / "state";
  const std::string log = daemon.place_ / "log";
  std::vector<std::string> words = {program, "--config", config,         "--state",
                                    state,   "--socket", daemon.socket()};
  std::vector<char*> argv;
  for (std::string& word : words)
    argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 2, log.c_str(), O_WRONLY | O_CREAT, 0600);
  const int error =
      ::posix_spawn(&daemon.pid_, program.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return syscall_failure(error, "start", program);
  TRY(daemon.wait_until_ready());
  return daemon;
}

OwnDaemon::OwnDaemon(OwnDaemon&& other) noexcept
    : place_(std::exchange(other.place_, {})), pid_(std::exchange(other.pid_, -1)) {}

OwnDaemon::~OwnDaemon() {
  if (pid_ > 0) {
    ::kill(pid_, SIGTERM);
    ::waitpid(pid_, nullptr, 0);
    // The daemon's end does not end its sandboxes.
    Runtime runtime({{}, {}});
    const auto left = runtime.list();
    for (const SandboxStatus& status : left.value_or(std::vector<SandboxStatus>()))
      (void)runtime.destroy(status.id);  // what stays ends with its ttl
  }
  std::error_code ignored;  // a directory left in /tmp is no reason to fail
  if (!place_.empty()) fs::remove_all(place_, ignored);
}

Result<double> OwnDaemon::memory() const {
  const std::string path = "/proc/" + std::to_string(pid_) + "/status";
  const std::string text = TRY(read_file(path, 64U << 10U));
  const std::size_t at = text.find("VmRSS:");
  if (at == std::string::npos) return failure(ErrorCode::Corrupt, path + " has no VmRSS");
  return std::strtod(text.c_str() + at + 6, nullptr);
}

Result<> OwnDaemon::wait_until_ready() const {
  const Deadline deadline = Deadline::in(30s);
  for (;;) {
    if (DaemonCaller(socket()).warm()) return {};
    if (deadline.has_passed()) return failure(ErrorCode::DeadlineExceeded, "no daemon answers");
    ::usleep(20'000);
  }
}

Result<std::string> DaemonCaller::call(const std::string& method, const std::string& target,
                                       const std::string& body) {
  auto answer =
      TRY(client_.send({.method = method, .target = target, .body = body}, Deadline::in(30s)));
  if (answer.status / 100 != 2)
    return failure(ErrorCode::Unavailable, method + " " + target + ": " + answer.body);
  return std::move(answer.body);
}

Result<std::string> DaemonCaller::create() {
  return text_at(TRY(call("POST", "/v1/sandboxes", R"({"ttl_ms":3600000})")), "id");
}

Result<std::string> DaemonCaller::acquire() {
  return text_at(TRY(call("POST", "/v1/pools/bench/acquire", "{}")), "id");
}

Result<> DaemonCaller::exec(const std::string& id) {
  TRY(call("POST", "/v1/sandboxes/" + id + "/exec", R"({"argv":["/bin/true"]})"));
  return {};
}

Result<std::string> DaemonCaller::output_of(const std::string& id, const std::string& word) {
  const nlohmann::json body = {{"argv", {"/bin/echo", word}}};
  return text_at(TRY(call("POST", "/v1/sandboxes/" + id + "/exec", body.dump())), "stdout");
}

Result<> DaemonCaller::release(const std::string& id) {
  TRY(call("POST", "/v1/sandboxes/" + id + "/release"));
  return {};
}

Result<> DaemonCaller::warm() {
  TRY(call("POST", "/v1/pools/bench/warm"));
  return {};
}

}  // namespace nutshell::bench
