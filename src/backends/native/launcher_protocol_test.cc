#include "backends/native/launcher_protocol.h"

#include <gtest/gtest.h>

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
  const SandboxSpec spec = unusual_spec();
  const SandboxSpec back = unpack(pack(spec));
  EXPECT_EQ(back.image, spec.image);
  EXPECT_EQ(back.limits, spec.limits);
  EXPECT_EQ(back.ttl, spec.ttl);
  EXPECT_EQ(back.idle_timeout, spec.idle_timeout);
  EXPECT_EQ(back.environment, spec.environment);
  EXPECT_EQ(back.working_directory, spec.working_directory);
  EXPECT_EQ(back.labels, spec.labels);
  EXPECT_EQ(back.unsafe_without, spec.unsafe_without);
  EXPECT_EQ(back.workspace, spec.workspace);
  EXPECT_EQ(back.workspace_mode, spec.workspace_mode);
  EXPECT_EQ(back.is_for_one_command, spec.is_for_one_command);
}

TEST(LauncherProtocol, RequestCutAnywhereIsAnError) {
  LauncherRequest request;
  request.operation = Operation::Start;
  request.id = "0123456789ab";
  request.spec = pack(unusual_spec());
  const std::string bytes = wire::encode(request);
  ASSERT_TRUE(wire::decode<LauncherRequest>(bytes));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(wire::decode<LauncherRequest>(std::string_view(bytes).substr(0, size))) << size;
  }
}

TEST(LauncherProtocol, ReplyListsSandboxes) {
  LauncherReply reply;
  reply.sandboxes = {{"a", pack(unusual_spec()), 1, 2, 3, "a reason"}, {"b", {}, 0, 0, 0, ""}};
  reply.has_more = 1;
  const auto back = wire::decode<LauncherReply>(wire::encode(reply));
  ASSERT_TRUE(back);
  ASSERT_EQ(back->sandboxes.size(), 2U);
  EXPECT_EQ(back->sandboxes[0].is_paused, 1);
  EXPECT_EQ(back->sandboxes[0].left_ms, 3U);
  EXPECT_EQ(back->sandboxes[0].why_copied, "a reason");
  EXPECT_EQ(back->has_more, 1);
}

}  // namespace
}  // namespace nutshell::native
