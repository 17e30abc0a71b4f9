// A real init, as PID 1 of a pid namespace, over socket pairs, without the rest of a sandbox.
#pragma once

#include <chrono>
#include <csignal>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/scratch_fixture.h"
#include "base/socket.h"
#include "init/exec/pid_namespace_fixture.h"
#include "init/init.h"
#include "wire/channel.h"
#include "wire/init_client.h"

namespace nutshell::init {

inline ExecRequest shell(const std::string& script) {
  ExecRequest request;
  request.argv = {"/bin/sh", "-c", script};
  request.limits.timeout = std::chrono::seconds(30);
  return request;
}

class InitTest : public PidNamespaceTest {
 protected:
  void SetUp() override {
    PidNamespaceTest::SetUp();
    if (IsSkipped()) return;
    std::signal(SIGPIPE, SIG_IGN);
    UniqueFd inside;
    std::tie(control_, inside) = std::move(*make_socket_pair(SocketKind::Packets));
    auto started = start_in_pid_namespace([this, &inside] {
      control_.reset();
      InitSetup setup;
      setup.control = std::move(inside);
      setup.ttl = std::chrono::minutes(2);
      setup.environment = {"PATH=/usr/bin:/bin", "FROM=sandbox"};
      setup.working_directory = scratch_.path();
      configure(setup);
      return run_init(std::move(setup));
    });
    ASSERT_TRUE(started) << started.error().message;
    init_ = std::move(*started);
  }

  // Called in the process that becomes init.
  virtual void configure(InitSetup& /*setup*/) {}

  void TearDown() override {
    if (!init_.is_owned()) return;
    control_.reset();
    const auto status = init_.wait(Deadline::in(std::chrono::seconds(20)));
    ASSERT_TRUE(status && *status) << "init does not end with its owner";
    EXPECT_EQ(**status, kEndedByOwner);
  }

  UniqueFd connect() {
    auto [ours, theirs] = std::move(*make_socket_pair(SocketKind::Stream));
    EXPECT_TRUE(send_packet(control_.get(), "c", {theirs.get()}));
    return std::move(ours);
  }
  wire::InitClient client() { return wire::InitClient(connect()); }

  // Runs a command that is expected to run to its end; returns its output and error.
  struct Captured {
    ExecResult result;
    std::string output;
    std::string error;
  };
  Captured run(const ExecRequest& request) {
    wire::InitClient own = client();
    wire::CapturedOutput io;
    const auto result = own.exec(request, io);
    EXPECT_TRUE(result) << result.error().message;
    return {result.value_or(ExecResult{}), io.output, io.error};
  }
  // Counts the processes of this name, without init.
  int count_processes(const std::string& name) {
    return std::stoi(run(shell("cat /proc/[0-9]*/comm 2>/dev/null | grep -cx " + name)).output);
  }

  ScratchDirectory scratch_;
  UniqueFd control_;
  ChildProcess init_;
};

// An Exec message, for conversations written by hand.
inline wire::Exec wire_exec(const std::string& id, const std::string& script) {
  wire::Exec exec;
  exec.exec_id = id;
  exec.request.argv = {"/bin/sh", "-c", script};
  exec.request.limits = {std::chrono::seconds(30), 1ULL << 30U, std::chrono::seconds(30)};
  exec.window = 1U << 20U;
  return exec;
}

}  // namespace nutshell::init
