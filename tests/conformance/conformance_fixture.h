// Every backend of the registry, through the interfaces that all backends have. A new backend is
// found here by itself.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/scratch_fixture.h"
#include "init/init.h"
#include "runtime/runtime.h"

namespace nutshell {

inline std::filesystem::path programs_directory() {
  const char* named = std::getenv("NUTSHELL_BIN");
  return named != nullptr ? named : NUTSHELL_PROGRAMS;
}

inline std::vector<std::string> backend_names() {
  std::vector<std::string> names;
  for (const BackendEntry& entry : backend_registry())
    names.push_back(entry.name);
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
    // Sandboxes that are kept are ours alone, whoever else uses the same machine.
    ::setenv("NUTSHELL_RUNTIME_DIR", scratch_.path().c_str(), 1);
    runtime_.emplace(BackendContext{&init::run_init, programs_directory()});
    spec_.backend = GetParam();
  }

  void SetUp() override {
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
    const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (is_served() && std::chrono::steady_clock::now() < patience)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_FALSE(is_served()) << "somebody stays behind the last sandbox";
  }
  // Whoever keeps sandboxes has a socket in the runtime directory as long as it is there.
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
  // In a sandbox of its own.
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
  std::optional<Runtime> runtime_;
  SandboxSpec spec_;
  std::vector<std::string> made_;
};

inline std::string name_of(const testing::TestParamInfo<std::string>& info) {
  return info.param;
}

}  // namespace nutshell
