#include "backends/native/launcher/launcher_protocol.h"

#include <gtest/gtest.h>

#include "core/json_form.h"
#include "core/random_noun_fixture.h"
#include "wire/codec.h"

namespace nutshell::native {
namespace {

using namespace std::chrono_literals;

SandboxSpec unusual_spec() {
  SandboxSpec spec;
  spec.image = "/images/a";
  spec.limits = {.memory_bytes = 1,
                 .millicpus = 2,
                 .processes = 3,
                 .disk_bytes = 4,
                 .open_files = 5,
                 .cpu_time = 6s};
  spec.ttl = 7ms;
  spec.idle_timeout = 8ms;
  spec.environment = {"A=1", "B="};
  spec.working_directory = "/work";
  spec.labels = {{"x", "y"}, {"empty", ""}};
  spec.unsafe_without = {"landlock"};
  spec.workspace = "/home/project";
  spec.workspace_mode = WorkspaceMode::Copy;
  spec.is_for_one_command = true;
  return spec;
}

TEST(LauncherProtocol, KeepsEveryPartOfASpec) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    LauncherRequest request;
    request.spec = random_noun<SandboxSpec>(seed);
    const std::string bytes = wire::encode(request);
    const auto back = wire::decode<LauncherRequest>(bytes);
    ASSERT_TRUE(back) << seed;
    EXPECT_EQ(wire::encode(*back), bytes);
    EXPECT_EQ(to_json_text(back->spec, Written::Kept), to_json_text(request.spec, Written::Kept));
  }
}

TEST(LauncherProtocol, RefusesAnUnknownEnumerator) {
  SandboxSpec spec;
  spec.workspace_mode = static_cast<WorkspaceMode>(7);
  EXPECT_FALSE(wire::decode<SandboxSpec>(wire::encode(spec)));
}

TEST(LauncherProtocol, RequestCutAnywhereIsAnError) {
  LauncherRequest request;
  request.operation = Operation::Start;
  request.id = "0123456789ab";
  request.spec = unusual_spec();
  const std::string bytes = wire::encode(request);
  ASSERT_TRUE(wire::decode<LauncherRequest>(bytes));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(wire::decode<LauncherRequest>(std::string_view(bytes).substr(0, size))) << size;
  }
}

TEST(LauncherProtocol, ReplyListsSandboxes) {
  LauncherReply reply;
  SandboxStatus first;
  first.id = "a";
  first.spec = unusual_spec();
  first.state = SandboxState::Paused;
  first.time_left = 3ms;
  first.why_copied = "a reason";
  reply.sandboxes = {first, SandboxStatus()};
  reply.has_more = 1;
  const auto back = wire::decode<LauncherReply>(wire::encode(reply));
  ASSERT_TRUE(back);
  ASSERT_EQ(back->sandboxes.size(), 2U);
  EXPECT_EQ(back->sandboxes[0].state, SandboxState::Paused);
  EXPECT_EQ(back->sandboxes[0].time_left, 3ms);
  EXPECT_EQ(back->sandboxes[0].why_copied, "a reason");
  EXPECT_EQ(back->has_more, 1);
}

}  // namespace
}  // namespace nutshell::native
