// nutshell-egress: the host's end of the network of one sandbox, whose policy it keeps. It is
// started by the program that starts the sandbox, takes its orders from standard input
// (wire/egress_messages.h), and ends with the sandbox.
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "base/pipe.h"
#include "base/seccomp_filter.h"
#include "egress/control.h"
#include "egress/host_network.h"
#include "egress/inspection.h"
#include "egress/relay.h"
#include "wire/egress_messages.h"
#include "wire/egress_surroundings.h"
#include "wire/message_socket.h"

namespace nutshell::egress {
namespace {

using namespace std::chrono_literals;

constexpr auto kOrderTime = 60s;  // for an order that was begun, and for init's answer

// Root's rights beyond its own files: hostile bytes are read here, and none of these is needed.
Result<> drop_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const std::array<__user_cap_data_struct, 2> none{};
  if (::syscall(SYS_capset, &header, none.data()) != 0) return syscall_failure("capset");
  return {};
}

// Nothing of this process gets into a core dump, and neither it nor a program that it could be made
// to start has or gets rights.
Result<> restrict_self() {
  ::umask(077);
  constexpr rlimit kNone{0, 0};
  if (::setrlimit(RLIMIT_CORE, &kNone) != 0) return syscall_failure("setrlimit");
  if (::chdir("/") != 0) return syscall_failure("chdir", "/");
  TRY(drop_capabilities());
  return set_no_new_privileges();
}

Result<> answer(int starter, const Result<>& done) {
  wire::EgressAnswer answer;
  if (!done) {
    answer.code = done.error().code;
    answer.message = done.error().message;
  }
  return wire::send_message(starter, answer, Deadline::in(kOrderTime));
}

// The relay's thread; joined before the relay ends.
class Work {
 public:
  Work(Relay& relay, UniqueFd end) : relay_(relay), end_(std::move(end)) {
    thread_ = std::thread([this] {
      (void)relay_.run();  // whoever asks why the network is gone finds no program
      end_.reset();
    });
  }
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  ~Work() {
    relay_.stop();
    thread_.join();
  }

 private:
  Relay& relay_;
  UniqueFd end_;  // closed when the relay has ended
  std::thread thread_;
};

// From here on no other process of this user can look into this one.
Result<ControlSocket> open_control(const std::string& path) {
  ControlSocket control = TRY(ControlSocket::open(path));
  if (::prctl(PR_SET_DUMPABLE, 0) != 0) return syscall_failure("prctl");
  return control;
}

Result<> carry(UniqueFd starter, const NetworkPolicy& policy, Inspection* inspection) {
  const auto arriving =
      TRY(wire::receive_message<wire::EgressStream>(starter.get(), Deadline::never()));
  wire::ReceivedBytes order = TRY(wire::receive_bytes(starter.get(), Deadline::in(kOrderTime)));
  const auto sandbox = TRY(wire::decode<wire::EgressSandbox>(order.bytes));
  Pipe end = TRY(make_pipe());
  auto control = open_control(sandbox.socket);
  const std::vector<std::string> environment =
      inspection != nullptr ? inspection->trust().environment : std::vector<std::string>();
  using enum InitStream::Descriptors;
  const auto descriptors = arriving.form == StreamForm::Direct ? Pass : Stay;
  auto relay = control ? Relay::create(InitStream(std::move(order.descriptor), descriptors), policy,
                                       environment, make_host_network, inspection)
                       : Result<std::unique_ptr<Relay>>(Failure(control.error()));
  if (!relay) return answer(starter.get(), Failure(relay.error()));
  const Work work(**relay, std::move(end.write));
  const auto opened = (*relay)->wait_opened(Deadline::in(kOrderTime));
  TRY(answer(starter.get(), opened));
  starter.reset();
  if (opened) control->serve(**relay, end.read.get());
  return {};
}

// Null if the policy leaves TLS alone.
Result<std::unique_ptr<Inspection>> inspection_for(const NetworkPolicy& policy,
                                                   const wire::EgressSurroundings& around) {
  TRY(check_network_policy(policy));
  if (policy.tls != TlsMode::Inspect) return std::unique_ptr<Inspection>();
  return Inspection::create(
      policy, {around.trust_directory, around.download_directory, around.authorities});
}

Result<> send_trust(int starter, const Inspection* inspection) {
  wire::EgressTrust trust;
  if (inspection != nullptr) {
    for (const TrustFile& file : inspection->trust().files)
      trust.files.push_back({file.name, file.bytes});
  }
  return wire::send_message(starter, trust, Deadline::in(kOrderTime));
}

Result<> serve(UniqueFd starter) {
  TRY(restrict_self());
  const Deadline deadline = Deadline::in(kOrderTime);
  const auto around = TRY(wire::receive_message<wire::EgressSurroundings>(starter.get(), deadline));
  const auto order = TRY(wire::receive_message<wire::EgressPolicy>(starter.get(), deadline));
  const auto inspection = inspection_for(order.policy, around);
  if (!inspection) return answer(starter.get(), Failure(inspection.error()));
  TRY(answer(starter.get(), {}));
  TRY(send_trust(starter.get(), inspection->get()));
  return carry(std::move(starter), order.policy, inspection->get());
}

bool is_socket(int descriptor) {
  struct stat status {};
  return ::fstat(descriptor, &status) == 0 && S_ISSOCK(status.st_mode);
}

}  // namespace
}  // namespace nutshell::egress

int main(int count, char** arguments) {
  const bool is_child = count == 2 && std::string_view(arguments[1]) == "--child";
  if ((count != 1 && !is_child) || !nutshell::egress::is_socket(STDIN_FILENO)) {
    fmt::print(stderr, "nutshell-egress is started by 'nutshell run --allow HOST'\n");
    return 2;
  }
  // A caller that does not keep this process waits for it; the work goes on in a child, which may
  // outlive the caller.
  const pid_t child = is_child ? 0 : ::fork();
  if (child != 0) return child > 0 ? 0 : 1;
  ::signal(SIGPIPE, SIG_IGN);  // NOLINT(concurrency-mt-unsafe): there is one thread yet
  nutshell::UniqueFd starter(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
  const nutshell::UniqueFd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!starter || ::dup2(nothing.get(), STDIN_FILENO) < 0) return 1;
  return nutshell::egress::serve(std::move(starter)) ? 0 : 1;
}
