#include "roche/sandbox_request.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "base/scratch_fixture.h"

namespace nutshell::roche {
namespace {

Result<> is_possible(const SandboxSpec& /*spec*/) {
  return {};
}

class RocheRequest : public testing::Test {
 protected:
  RocheRequest() {
    ::setenv("NUTSHELL_IMAGE_DIR", (scratch_ / "images").c_str(), 1);  // NOLINT: one thread
    choices_.docker = "native";
    choices_.images = {{"python:3.12-slim", "host"}};
  }
  Result<SandboxSpec> spec(const SandboxRequest& request) {
    return spec_of(request, choices_, is_possible);
  }
  ErrorCode refusal(const SandboxRequest& request) {
    const auto made = spec(request);
    return made ? ErrorCode::Internal : made.error().code;
  }

  ScratchDirectory scratch_;
  Choices choices_;
};

TEST_F(RocheRequest, IsByDefaultAsStrictAsRocheOrStricter) {
  const auto made = spec({});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->ttl, std::chrono::seconds(300));
  EXPECT_EQ(made->limits.memory_bytes, 512ULL << 20U);
  EXPECT_EQ(made->limits.millicpus, 1000U);
  EXPECT_EQ(made->limits.processes, 64U);
  EXPECT_TRUE(made->mounts.empty());
  EXPECT_TRUE(made->unsafe_mounts.empty());
  EXPECT_EQ(made->labels.at("roche.provider"), "docker");
  EXPECT_EQ(made->labels.at("roche.image"), "python:3.12-slim");
}

TEST_F(RocheRequest, RefusesWhatHasNoMeaning) {
  EXPECT_EQ(refusal({.has_network = true}), ErrorCode::Unsupported);
  EXPECT_EQ(refusal({.has_network = true, .allowed_hosts = {"example.com"}}),
            ErrorCode::Unsupported);
  EXPECT_EQ(refusal({.kernel = "/boot/vmlinuz"}), ErrorCode::Unsupported);
  EXPECT_EQ(refusal({.root_file_system = "/x.ext4"}), ErrorCode::Unsupported);
  for (const char* provider : {"firecracker", "wasm", "e2b", "k8s", "Docker", "docker "})
    EXPECT_EQ(refusal({.provider = provider}), ErrorCode::Unsupported) << provider;
  for (const char* path :
       {"/data", "/", "/etc", "/tmp/../etc", "/tmpfoo", "tmp", "", "/workspacex"})
    EXPECT_EQ(refusal({.writable_paths = {path}}), ErrorCode::Unsupported) << path;
  EXPECT_TRUE(spec({.writable_paths = {"/tmp", "/tmp/a", "/workspace/b/../c"}}));
}

TEST_F(RocheRequest, RefusesLimitsThatMakeNoSense) {
  for (const double cores : {0.0, -1.0, 1e9, std::numeric_limits<double>::quiet_NaN(),
                             std::numeric_limits<double>::infinity()})
    EXPECT_EQ(refusal({.cpus = cores}), ErrorCode::InvalidArgument) << cores;
  for (const char* memory : {"", "-1", "many", "1q", "99999999999g"})
    EXPECT_EQ(refusal({.memory = memory}), ErrorCode::InvalidArgument) << memory;
  const auto made = spec({.memory = "1g", .cpus = 0.5, .timeout_seconds = 60});
  ASSERT_TRUE(made);
  EXPECT_EQ(made->limits.memory_bytes, 1ULL << 30U);
  EXPECT_EQ(made->limits.millicpus, 500U);
  EXPECT_EQ(made->ttl, std::chrono::seconds(60));
  EXPECT_GT(spec({.timeout_seconds = ~0ULL})->ttl.count(), 0);  // no overflow
}

TEST_F(RocheRequest, NeverTakesThisMachinesSystemForAnImageUnasked) {
  const auto missing = spec({.image = "node:20-slim"});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::Unavailable);
  EXPECT_NE(missing.error().message.find("image pull node:20-slim"), std::string::npos);
  const auto asked = spec({.image = "host"});
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->image, "");
  EXPECT_EQ(asked->labels.at("roche.image"), "host");
}

TEST_F(RocheRequest, LeavesAnAbsentEngineButNoOtherError) {
  choices_.docker = "auto";
  std::vector<std::string> tried;
  const auto answer = [&](ErrorCode code) {
    tried.clear();
    return spec_of({}, choices_, [&](const SandboxSpec& one) -> Result<> {
      tried.push_back(one.backend);
      if (one.backend == "docker") return failure(code, "no");
      return {};
    });
  };
  EXPECT_EQ(answer(ErrorCode::Unavailable)->backend, "native");
  EXPECT_EQ(tried, (std::vector<std::string>{"docker", "native"}));
  EXPECT_FALSE(answer(ErrorCode::ResourceExhausted));
  EXPECT_EQ(tried, std::vector<std::string>{"docker"});
  choices_.docker = "docker";
  EXPECT_FALSE(answer(ErrorCode::Unavailable));
  EXPECT_EQ(spec_of({}, choices_, is_possible)->image, "python:3.12-slim");  // the engine's own
}

TEST_F(RocheRequest, MountsAreReadOnlyUnlessAskedFor) {
  const auto mount = parse_mount("/data:/mnt");
  ASSERT_TRUE(mount);
  EXPECT_TRUE(mount->is_read_only);
  EXPECT_TRUE(parse_mount("/data:/mnt:ro")->is_read_only);
  EXPECT_FALSE(parse_mount("/data:/mnt:rw")->is_read_only);
  for (const char* wrong : {"/data", "", "/data:/mnt:rwx", "/data:/mnt:ro:rw"})
    EXPECT_FALSE(parse_mount(wrong)) << wrong;
  const auto made = spec({.mounts = {{"/a", "/x", true}, {"/b", "/y", false}}});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->mounts.at(0).source, "/a");
  EXPECT_EQ(made->unsafe_mounts.at(0).source, "/b");
}

TEST(RocheChoices, RefuseWhatTheyDoNotKnow) {
  EXPECT_TRUE(Choices::parse("", {}));
  EXPECT_TRUE(Choices::parse("auto", {"a:1=host", "b=c"}));
  EXPECT_FALSE(Choices::parse("podmen", {}));
  for (const char* wrong : {"a", "=host", "a=", ""})
    EXPECT_FALSE(Choices::parse("auto", {wrong})) << wrong;
}

TEST(RocheText, IsAlwaysUtf8) {
  EXPECT_EQ(to_text("a\xffz"), "a\xEF\xBF\xBDz");
  EXPECT_EQ(to_text("\xc3\xa4\xc3"), "\xc3\xa4\xEF\xBF\xBD");
  EXPECT_EQ(to_text(std::string_view("\0x", 2)), std::string("\0x", 2));
}

TEST(RocheResult, HasAnExitCodeOnlyIfTheCommandEnded) {
  const ExecRequest request;
  ExecResult result;
  result.outcome = Outcome::Exited;
  result.exit_code = 42;
  EXPECT_TRUE(refuse_without_status(result, request));
  EXPECT_EQ(exit_code_of(result), 42);
  result.outcome = Outcome::Signalled;
  result.signal = 15;
  EXPECT_EQ(exit_code_of(result), 143);
  result.outcome = Outcome::OutOfMemory;
  EXPECT_EQ(exit_code_of(result), 137);
  result.outcome = Outcome::TimedOut;
  EXPECT_EQ(refuse_without_status(result, request).error().code, ErrorCode::DeadlineExceeded);
  result.outcome = Outcome::Lost;
  EXPECT_EQ(refuse_without_status(result, request).error().code, ErrorCode::NotFound);
  result.outcome = Outcome::OutputLimit;
  EXPECT_EQ(refuse_without_status(result, request).error().code, ErrorCode::ResourceExhausted);
}

}  // namespace
}  // namespace nutshell::roche
