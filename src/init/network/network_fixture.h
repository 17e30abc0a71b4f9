// A real init in a network namespace of its own, with a fake relay.
#pragma once

#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cstring>
#include <memory>
#include <string>

#include "init/init_fixture.h"
#include "init/network/relay_fixture.h"
#include "wire/network_schema.h"

namespace nutshell::init {

class NetworkTest : public InitTest {
 protected:
  void configure(InitSetup& /*setup*/) override {
    if (::unshare(CLONE_NEWNET) != 0) ::_exit(kNoNetwork);
    const UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ifreq request{};
    std::strncpy(request.ifr_name, "lo", sizeof request.ifr_name);
    request.ifr_flags = IFF_UP;
    if (::ioctl(socket.get(), SIOCSIFFLAGS, &request) != 0) ::_exit(kNoNetwork);
  }

  void SetUp() override {
    InitTest::SetUp();
    if (IsSkipped() || !init_.is_owned()) return;
    use_network();
  }

  void TearDown() override {
    relay_.reset();
    InitTest::TearDown();
  }

  void use_network() {
    wire::Channel channel(connect());
    channel.queue(1, wire::UseNetwork{});
    const auto frame = channel.receive(Deadline::in(std::chrono::seconds(20)));
    ASSERT_TRUE(frame) << frame.error().message;
    if (frame->type == wire::MessageType::Failed) {
      GTEST_SKIP() << wire::decode<wire::Failed>(frame->payload)->message;
    }
  }

  void start_relay(FakeRelay::Behaviour behaviour = {}) {
    relay_ = std::make_unique<FakeRelay>(connect(), std::move(behaviour));
    const Deadline patience = Deadline::in(std::chrono::seconds(20));
    while (!relay_->is_open() && !patience.has_passed())
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    ASSERT_TRUE(relay_->is_open());
  }

  // Runs a script of Python with the modules that tests need.
  Captured python(const std::string& script) {
    ExecRequest request;
    request.argv = {"python3", "-c",
                    "import errno, os, socket, struct, threading, time\n"
                    "def call(function, *arguments):\n"
                    "    try:\n"
                    "        function(*arguments)\n"
                    "        return 'ok'\n"
                    "    except OSError as error:\n"
                    "        return errno.errorcode[error.errno]\n" +
                        script};
    request.limits.timeout = std::chrono::seconds(30);
    return run(request);
  }

  static constexpr int kNoNetwork = 99;
  std::unique_ptr<FakeRelay> relay_;
};

}  // namespace nutshell::init
