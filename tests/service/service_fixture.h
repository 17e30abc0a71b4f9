// A service of the test's own, with real sandboxes: native ones, or of the backend, image and
// runtime that NUTSHELL_SERVICE_BACKEND, NUTSHELL_SERVICE_IMAGE and NUTSHELL_SERVICE_RUNTIME name.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/scratch_fixture.h"
#include "init/init.h"
#include "runtime/runtime.h"
#include "service/service.h"

namespace nutshell::service {

using namespace std::chrono_literals;

inline std::filesystem::path programs_directory() {
  const char* named = std::getenv("NUTSHELL_BIN");
  return named != nullptr ? named : NUTSHELL_PROGRAMS;
}

inline std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

inline ExecRequest shell(const std::string& script) {
  ExecRequest request;
  request.argv = {"/bin/sh", "-c", script};
  return request;
}

class ServiceTest : public testing::Test {
 protected:
  ServiceTest() {
    std::filesystem::create_directory(scratch_ / "run");
    std::filesystem::permissions(scratch_ / "run", std::filesystem::perms::owner_all);
    // Sandboxes that are kept are ours alone, whoever else uses the same machine.
    ::setenv("NUTSHELL_RUNTIME_DIR", (scratch_ / "run").c_str(), 1);
    ::setenv("NUTSHELL_LAUNCHER_LINGER", "0", 1);  // it ends with its last sandbox
    options_.backends = {&init::run_init, programs_directory()};
    options_.state_directory = scratch_ / "state";
    options_.audit.durability = audit::Durability::Kernel;
    options_.tick = 20ms;
    options_.notice = [this](std::string_view text) { notices_.emplace_back(text); };
    runtime_.emplace(options_.backends);
    spec_.backend = variable("NUTSHELL_SERVICE_BACKEND");
    spec_.image = variable("NUTSHELL_SERVICE_IMAGE");
    spec_.runtime = variable("NUTSHELL_SERVICE_RUNTIME");
  }

  void SetUp() override {
    auto checked = runtime_->check(spec_);
    if (!checked) {
      spec_.unsafe_without = {"landlock"};
      if (!runtime_->check(spec_))
        GTEST_SKIP() << "no sandboxes can be made here: " << checked.error().message;
    }
    open();
  }
  void TearDown() override {
    service_.reset();
    const auto left = runtime_->list();
    if (left) {
      for (const SandboxStatus& status : *left)
        (void)runtime_->destroy(status.id);  // the test may have left some on purpose
    }
    const auto patience = Clock::now() + 5s;
    while (is_served() && Clock::now() < patience)
      std::this_thread::sleep_for(5ms);
    EXPECT_FALSE(is_served()) << "somebody stays behind the last sandbox";
  }
  bool is_served() const {
    const std::filesystem::directory_iterator entries(scratch_ / "run");
    return std::any_of(begin(entries), end(entries),
                       [](const auto& entry) { return entry.is_socket(); });
  }

  void open() {
    auto opened = Service::open(options_);
    ASSERT_TRUE(opened) << opened.error().message;
    service_ = std::move(*opened);
  }
  void restart() {
    service_.reset();
    open();
  }

  std::string create(const Caller& caller) {
    auto made = service_->create(caller, {spec_, {}});
    EXPECT_TRUE(made) << made.error().message;
    return made ? made->id : std::string();
  }
  struct Captured {
    ExecResult result;
    std::string output;
    std::uint64_t audit_id = 0;
    std::string problem;
  };
  Captured exec(const Caller& caller, const std::string& id, const std::string& script) {
    wire::CapturedOutput io;
    auto reply = service_->exec(caller, id, shell(script), {}, io);
    if (!reply) return {{}, {}, 0, reply.error().message};
    return {reply->result, io.output, reply->audit_id, {}};
  }
  // Until it is so, or for as long as a busy engine may take to end one and make another.
  template <typename Condition>
  static bool soon(const Condition& condition) {
    const auto patience = Clock::now() + 30s;
    while (Clock::now() < patience) {
      if (condition()) return true;
      std::this_thread::sleep_for(10ms);
    }
    return condition();
  }
  std::size_t running() {
    const auto all = runtime_->list();
    return all ? all->size() : 0;
  }

  ScratchDirectory scratch_;
  ServiceOptions options_;
  SandboxSpec spec_;
  Caller alice_{"alice", "uid 1000", HostFiles::Allowed};
  Caller bob_{"bob", "token ci", HostFiles::Denied};
  std::vector<std::string> notices_;
  std::optional<Runtime> runtime_;
  std::unique_ptr<Service> service_;
};

}  // namespace nutshell::service
