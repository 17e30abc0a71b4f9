// Runs the tests with every backend of the registry, directly and through a daemon. A new backend
// is tested without a change here.
#pragma once

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/child_process.h"
#include "base/scratch_fixture.h"
#include "base/socket.h"
#include "base/spawn.h"
#include "init/init.h"
#include "runtime/runtime.h"

namespace nutshell {

inline std::filesystem::path programs_directory() {
  const char* named = std::getenv("NUTSHELL_BIN");
  return named != nullptr ? named : NUTSHELL_PROGRAMS;
}

inline const std::string kThroughDaemon = "_through_daemon";

inline std::vector<std::string> backend_names() {
  std::vector<std::string> names;
  for (const BackendEntry& entry : backend_registry()) {
    names.push_back(entry.name);
    names.push_back(entry.name + kThroughDaemon);
  }
  return names;
}

inline ExecRequest shell(const std::string& script) {
  ExecRequest request;
  request.argv = {"/bin/sh", "-c", script};
  return request;
}

class Conformance : public testing::TestWithParam<std::string> {
 protected:
  Conformance() {
    // Other users of this machine do not see the sandboxes that are kept here.
    ::setenv("NUTSHELL_RUNTIME_DIR", scratch_.path().c_str(), 1);
    ::setenv("NUTSHELL_LAUNCHER_LINGER", "0", 1);  // it ends with its last sandbox
    spec_.backend = GetParam();
    const bool is_through_daemon = GetParam().ends_with(kThroughDaemon);
    if (is_through_daemon) spec_.backend.resize(GetParam().size() - kThroughDaemon.size());
    if (needs_image()) {
      spec_.image = image();
      if (const char* named = std::getenv("NUTSHELL_CONFORMANCE_RUNTIME")) spec_.runtime = named;
    }
    if (const char* accepted = std::getenv("NUTSHELL_CONFORMANCE_WITHOUT"))
      spec_.unsafe_without = {accepted};
    if (is_through_daemon && can_run()) start_daemon();
    make_runtime();
  }

  // Container backends run with the engine that the environment names, which has an image with a
  // shell.
  [[nodiscard]] bool needs_image() const {
    return spec_.backend == "docker" || spec_.backend == "podman";
  }
  [[nodiscard]] bool can_run() const { return !needs_image() || !spec_.image.empty(); }
  static std::string image() {
    const char* named = std::getenv("NUTSHELL_CONFORMANCE_IMAGE");
    return named != nullptr ? named : "";
  }

  // A runtime as another process of the same user would have it.
  void make_runtime() {
    runtime_.emplace(BackendContext{&init::run_init, programs_directory(), daemon_});
  }

  void start_daemon() {
    const auto program = programs_directory() / "nutshelld";
    daemon_ = DaemonAccess{scratch_.path() / kDaemonSocket, {}, {}, true};
    const std::string state = state_.path() / "state";
    auto started = spawn({.arguments = {program, "--state", state}, .error = kNullDevice});
    ASSERT_TRUE(started) << started.error().message;
    daemon_process_ = std::move(*started);
    const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!connect_to(daemon_->socket, SocketKind::Stream)) {
      ASSERT_LT(std::chrono::steady_clock::now(), patience) << "the daemon does not start";
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  void stop_daemon() {
    if (!daemon_process_.is_owned()) return;
    daemon_process_.send_signal(SIGTERM);
    EXPECT_TRUE(daemon_process_.wait(Deadline::in(std::chrono::seconds(30))));
  }

  void SetUp() override {
    if (!can_run())
      GTEST_SKIP() << "no engine was chosen: tests/integration/containers_test.py starts one";
    auto checked = runtime_->check(spec_);
    if (checked) return;
    spec_.unsafe_without = {"landlock"};
    if (!runtime_->check(spec_)) {
      GTEST_SKIP() << GetParam() << " cannot run here: " << checked.error().message;
    }
  }
  void TearDown() override {
    for (const std::string& id : made_)
      (void)runtime_->destroy(id);  // most are gone already
    stop_daemon();
    const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (is_served() && std::chrono::steady_clock::now() < patience)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_FALSE(is_served()) << "somebody stays behind the last sandbox";
  }
  // The process that keeps sandboxes has a socket in the runtime directory while it lives.
  bool is_served() const {
    const std::filesystem::directory_iterator entries(scratch_.path());
    return std::any_of(begin(entries), end(entries),
                       [](const auto& entry) { return entry.is_socket(); });
  }

  struct Captured {
    ExecResult result;
    std::string output;
    std::string error;
  };
  Captured captured(const Result<ExecResult>& result, wire::CapturedOutput& io) {
    EXPECT_TRUE(result) << result.error().message;
    return {result.value_or(ExecResult{}), io.output, io.error};
  }
  // Runs a command in a new sandbox.
  Captured run(const ExecRequest& request) {
    wire::CapturedOutput io;
    return captured(runtime_->run(spec_, request, io), io);
  }
  std::string output_of(const std::string& script) { return run(shell(script)).output; }

  std::string create() {
    auto id = runtime_->create(spec_);
    EXPECT_TRUE(id) << id.error().message;
    if (id) made_.push_back(*id);
    return id.value_or("");
  }
  Captured exec(const std::string& id, const std::string& script) {
    wire::CapturedOutput io;
    return captured(runtime_->exec(id, shell(script), io), io);
  }
  bool is_listed(const std::string& id) {
    const auto all = runtime_->list();
    EXPECT_TRUE(all) << all.error().message;
    return all && std::any_of(all->begin(), all->end(),
                              [&](const SandboxStatus& status) { return status.id == id; });
  }

  ScratchDirectory scratch_;
  ScratchDirectory state_;
  std::optional<DaemonAccess> daemon_;
  ChildProcess daemon_process_;
  std::optional<Runtime> runtime_;
  SandboxSpec spec_;
  std::vector<std::string> made_;
};

inline std::string name_of(const testing::TestParamInfo<std::string>& info) {
  return info.param;
}

}  // namespace nutshell
