#include "runtime/network.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/defer.h"
#include "base/directory.h"
#include "base/environment.h"
#include "base/fault_point.h"
#include "base/socket.h"
#include "base/spawn.h"
#include "base/user_directory.h"
#include "core/sandbox_id.h"
#include "core/stream_carrier.h"
#include "runtime/download_directory.h"
#include "wire/egress_surroundings.h"
#include "wire/init_client.h"
#include "wire/message_socket.h"

namespace nutshell {
namespace {

using namespace std::chrono_literals;
using Kind = wire::EgressQuestion::Kind;

constexpr auto kBeginTime = 20s;
constexpr auto kQuestionTime = 10s;
constexpr auto kEndTime = 5s;
constexpr const char* kSocketEnding = ".sock";
constexpr const char* kTrustDirectory = "/tmp/.nutshell-trust";  // in the sandbox

bool has_network(const SandboxSpec& spec) {
  return mode_of(spec.network) != NetworkMode::None;
}

Result<std::filesystem::path> make_socket_directory() {
  std::filesystem::path directory = TRY(open_user_directory()) / "egress";
  TRY(make_private_directory(directory));
  return directory;
}

Result<std::filesystem::path> socket_of(const std::string& id) {
  return TRY(open_user_directory()) / "egress" / (id + kSocketEnding);
}

Result<> success_of(const wire::EgressAnswer& answer) {
  if (answer.message.empty()) return {};
  return failure(answer.code, answer.message);
}

// The program of one sandbox, until it has begun. The destructor ends it if it has not.
class Beginning {
 public:
  // Returns at once; the program checks the policy meanwhile.
  enum class Parent { Caller, Nobody };
  static Result<Beginning> start(const BackendContext& context, const SandboxSpec& spec,
                                 Parent parent) {
    auto [ours, theirs] = TRY(make_socket_pair(SocketKind::Stream));
    const std::filesystem::path program = context.programs / "nutshell-egress";
    if (::access(program.c_str(), X_OK) != 0) {
      return failure(ErrorCode::Unsupported,
                     fmt::format("network: the program {}, which carries the connections of a "
                                 "sandbox, is missing. Install it, or leave the network out",
                                 program.native()));
    }
    std::vector<std::string> words = {"nutshell-egress"};
    if (parent == Parent::Caller) words.emplace_back("--child");
    ChildProcess child = TRY(spawn({.arguments = std::move(words),
                                    .program = program,
                                    .input = theirs.get(),
                                    .output = kNullDevice,
                                    .error = kNullDevice,
                                    .directory = "/",
                                    .session = Command::Session::Own,
                                    .environment = Command::Environment::Empty,
                                    .others = Command::OtherDescriptors::Closed}));
    theirs.reset();
    Beginning made(std::move(ours), std::move(child), parent);
    const Deadline deadline = Deadline::in(kBeginTime);
    TRY(wire::send_message(made.program_.get(),
                           wire::EgressSurroundings{kTrustDirectory, download_directory(spec),
                                                    environment_path("SSL_CERT_FILE").native()},
                           deadline));
    TRY(wire::send_message(made.program_.get(), wire::EgressPolicy{spec.network}, deadline));
    return made;
  }

  // Returns the files that the sandbox needs, unless the program refuses the policy.
  Result<std::vector<wire::EgressFile>> checked() {
    // The program goes on in a child of its own.
    if (parent_ == Parent::Nobody) TRY(child_.wait(Deadline::in(kBeginTime)));
    TRY(receive());
    return TRY(wire::receive_message<wire::EgressTrust>(program_.get(), Deadline::in(kBeginTime)))
        .files;
  }
  ChildProcess take_child() { return std::move(child_); }

  Result<> take_sandbox(LastingStream stream, const std::filesystem::path& socket) {
    const Deadline deadline = Deadline::in(kBeginTime);
    TRY(wire::send_message(program_.get(), wire::EgressStream{stream.form}, deadline));
    TRY(wire::send_message(program_.get(), wire::EgressSandbox{socket.native()}, deadline,
                           stream.descriptor.get()));
    stream.descriptor.reset();
    return receive();
  }

 private:
  Beginning(UniqueFd program, ChildProcess child, Parent parent)
      : program_(std::move(program)), child_(std::move(child)), parent_(parent) {}

  Result<> receive() {
    auto answer =
        wire::receive_message<wire::EgressAnswer>(program_.get(), Deadline::in(kBeginTime));
    if (!answer) return while_doing("start nutshell-egress", std::move(answer).error());
    return success_of(*answer);
  }

  UniqueFd program_;
  ChildProcess child_;
  Parent parent_;
};

// The backends keep the spec for their lists; only nutshell-egress needs the secrets.
SandboxSpec without_secrets(SandboxSpec spec) {
  for (NetworkSecret& secret : spec.network.secrets)
    secret.value.clear();
  return spec;
}

// So that the programs in the sandbox trust what the host answers in place of servers.
Result<> write_files(UniqueFd stream, const std::vector<wire::EgressFile>& files) {
  wire::InitClient client(std::move(stream));
  TRY(client.make_directory({kTrustDirectory, 0755, wire::IfExists::Refuse}));
  for (const wire::EgressFile& file : files) {
    std::string_view left = file.bytes;
    const auto source = [&left](std::size_t most) -> Result<std::string> {
      std::string part(left.substr(0, most));
      left.remove_prefix(part.size());
      return part;
    };
    wire::WriteFile request;
    request.path = std::string(kTrustDirectory) + "/" + file.name;
    auto written = client.write_file(request, source);
    if (!written) return while_doing("write " + request.path, std::move(written).error());
  }
  return {};
}

Result<LastingStream> connect_for_program(Backend& backend, const std::string& id) {
  if (StreamCarrier* carrier = backend.stream_carrier()) return carrier->connect_for_program(id);
  return LastingStream{TRY(backend.connect(id))};
}

Result<> begin_network(Beginning& program, Backend& backend, const std::string& id) {
  const std::filesystem::path socket = TRY(make_socket_directory()) / (id + kSocketEnding);
  const auto files = TRY(program.checked());
  fault_point("network.checked");
  LastingStream stream = TRY(connect_for_program(backend, id));
  if (!files.empty()) TRY(write_files(TRY(connect_for_program(backend, id)).descriptor, files));
  return program.take_sandbox(std::move(stream), socket);
}

}  // namespace

Result<> check_network_of(const SandboxSpec& spec) {
  if (!has_network(spec)) return {};
  const auto& entries = backend_registry();
  const auto found = std::find_if(entries.begin(), entries.end(), [&](const BackendEntry& entry) {
    return entry.name == spec.backend;
  });
  const BackendEntry& backend = found == entries.end() ? entries.front() : *found;
  if (backend.has_network) return {};
  return failure(ErrorCode::Unsupported,
                 fmt::format("network: the backend {} has none in this version. Leave it out, "
                             "or use another backend",
                             backend.name));
}

Result<> check_network_rules(const BackendContext& context, const NetworkPolicy& policy) {
  if (context.daemon || mode_of(policy) == NetworkMode::None) return {};
  SandboxSpec spec;
  spec.network = policy;
  TRY(TRY(Beginning::start(context, spec, Beginning::Parent::Caller)).checked());
  return {};
}

Result<std::string> start_with_network(const BackendContext& context, Backend& backend,
                                       const SandboxSpec& spec, Lifetime lifetime,
                                       ChildProcess* relay) {
  using Parent = Beginning::Parent;
  if (context.daemon || !has_network(spec)) return backend.start(spec, lifetime);
  TRY(check_network_of(spec));
  // The program starts while the sandbox does.
  auto program =
      TRY(Beginning::start(context, spec, relay != nullptr ? Parent::Caller : Parent::Nobody));
  std::string id = TRY(backend.start(without_secrets(spec), lifetime));
  Defer stopped([&] { (void)backend.stop(id); });
  TRY(begin_network(program, backend, id));
  if (relay != nullptr) *relay = program.take_child();
  stopped.release();
  return id;
}

Result<NetworkStatus> status_or_none(Result<NetworkStatus> status) {
  if (status || status.error().code != ErrorCode::Conflict) return status;
  NetworkStatus none;
  none.way = "none";
  return none;
}

Result<std::vector<NetworkEvent>> events_or_none(Result<std::vector<NetworkEvent>> events) {
  if (events || events.error().code != ErrorCode::Conflict) return events;
  return std::vector<NetworkEvent>();
}

Failure network_has_ended() {
  return failure(ErrorCode::Unavailable,
                 "nutshell-egress, which carries the connections of this sandbox, has ended: the "
                 "sandbox has no network any more. Make another sandbox");
}

Result<wire::EgressAnswer> ask_network(const std::string& id,
                                       const wire::EgressQuestion& question) {
  const std::filesystem::path path = TRY(socket_of(id));
  if (::access(path.c_str(), F_OK) != 0)
    return failure(ErrorCode::NotFound, "this sandbox has no network");
  auto socket = connect_to(path, SocketKind::Stream);
  if (!socket) return network_has_ended();
  TRY(wire::send_message(socket->get(), question, Deadline::in(kQuestionTime)));
  auto answer =
      wire::receive_message<wire::EgressAnswer>(socket->get(), Deadline::in(kQuestionTime));
  if (!answer && answer.error().code == ErrorCode::Unavailable) return network_has_ended();
  if (answer) TRY(success_of(*answer));
  return answer;
}

Result<> take_present_network(const std::string& id, SandboxSpec& spec) {
  if (!has_network(spec)) return {};
  auto answer = ask_network(id, {});
  if (!answer && answer.error().code == ErrorCode::NotFound) return network_has_ended();
  spec.network = TRY(std::move(answer)).status.policy;
  return {};
}

void end_network(const std::string& id) {
  const auto path = socket_of(id);
  if (!path || !is_sandbox_id(id) || ::access(path->c_str(), F_OK) != 0) return;
  if (auto socket = connect_to(*path, SocketKind::Stream)) {
    wire::EgressQuestion question;
    question.kind = Kind::Stop;
    const Deadline deadline = Deadline::in(kEndTime);
    // The program closes the connection when it has ended.
    if (wire::send_message(socket->get(), question, deadline))
      (void)wire::receive_bytes(socket->get(), deadline);
  }
  ::unlink(path->c_str());  // of a program that was killed
}

void sweep_networks(SweepMode mode, SweepReport& report) {
  const auto directory = open_user_directory();
  if (!directory) return;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(*directory / "egress", error)) {
    const std::filesystem::path& path = entry.path();
    if (path.extension() != kSocketEnding || connect_to(path, SocketKind::Stream)) continue;
    if (mode == SweepMode::Remove) ::unlink(path.c_str());
    report.removed.push_back("socket of a dead nutshell-egress " + path.native());
  }
}

}  // namespace nutshell
