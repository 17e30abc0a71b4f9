// The network of a sandbox by a policy, whichever way its init learns of connections.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "conformance_fixture.h"

namespace nutshell {
namespace {

using testing::HasSubstr;
using testing::Not;

// Says "hello" to every client, at this machine's loopback. A process of its own: a thread would
// keep this one from making user namespaces.
class Greeter {
 public:
  Greeter() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof place;
    auto* address = reinterpret_cast<sockaddr*>(&place);
    EXPECT_EQ(::bind(listener_.get(), address, size), 0);
    EXPECT_EQ(::listen(listener_.get(), SOMAXCONN), 0);
    EXPECT_EQ(::getsockname(listener_.get(), address, &size), 0);
    port_ = ntohs(place.sin_port);
    process_ = ::fork();
    if (process_ == 0) serve();
  }
  Greeter(const Greeter&) = delete;
  Greeter& operator=(const Greeter&) = delete;
  ~Greeter() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  [[noreturn]] void serve() const {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (const UniqueFd client{::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)})
      (void)::send(client.get(), "hello\n", 6, MSG_NOSIGNAL);
    ::_exit(1);
  }

  UniqueFd listener_;
  std::uint16_t port_ = 0;
  pid_t process_ = -1;
};

class PolicyConformance : public Conformance {
 protected:
  void SetUp() override {
    Conformance::SetUp();
    if (IsSkipped()) return;
    if (output_of("command -v bash").empty()) GTEST_SKIP() << "no bash, which can connect";
    spec_.network.allow = {fmt::format("127.0.0.1:{}", allowed_.port())};
    const auto checked = runtime_->check(spec_);
    if (!checked && checked.error().code == ErrorCode::Unsupported)
      GTEST_SKIP() << checked.error().message;  // its engine alone reaches the sandbox
  }
  // Connects to a port of this machine, through the proxy if there is one.
  static std::string script_for(std::uint16_t port) {
    return fmt::format(
        "exec bash -c 'proxy=${{ALL_PROXY#socks5h://}}\n"
        "if [ -z \"$proxy\" ]; then exec 3<>/dev/tcp/127.0.0.1/{0} || exit 1\n"
        "else exec 3<>/dev/tcp/${{proxy%:*}}/${{proxy#*:}} || exit 1\n"
        "printf \"CONNECT 127.0.0.1:{0} HTTP/1.1\\r\\n\\r\\n\" >&3; fi\n"
        "while read -r line <&3; do echo \"$line\"; done'",
        port);
  }

  Greeter allowed_;
  Greeter other_;
};

TEST_P(PolicyConformance, ReachesWhatIsAllowedAndNothingElse) {
  EXPECT_THAT(output_of(script_for(allowed_.port())), HasSubstr("hello"));
  const Captured refused = run(shell(script_for(other_.port())));
  EXPECT_THAT(refused.output, Not(HasSubstr("hello")));
  EXPECT_EQ(refused.result.outcome, Outcome::Exited);
}

TEST_P(PolicyConformance, AKeptSandboxKeepsItsNetwork) {
  const std::string id = create();
  make_runtime();  // the first one, and its connections, are gone
  EXPECT_THAT(exec(id, script_for(allowed_.port())).output, HasSubstr("hello"));
  EXPECT_THAT(exec(id, script_for(other_.port())).output, Not(HasSubstr("hello")));
}

INSTANTIATE_TEST_SUITE_P(Every, PolicyConformance, testing::ValuesIn(backend_names()), name_of);

}  // namespace
}  // namespace nutshell
