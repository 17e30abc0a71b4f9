// Kept sandboxes: found, used, paused and ended by their id.
#include "base/file.h"
#include "conformance_fixture.h"
#include "runtime/dial.h"

namespace nutshell {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class KeptConformance : public Conformance {
 protected:
  // Looks like an id of the backend under test, but belongs to no sandbox.
  std::string nobodys() { return create().substr(0, 1) + std::string(12, '0'); }
};

TEST_P(KeptConformance, IsListedFoundAndDestroyed) {
  spec_.labels = {{"purpose", "conformance"}};
  const std::string id = create();
  ASSERT_NE(id, "");
  EXPECT_TRUE(is_listed(id));
  const auto found = runtime_->find(id.substr(0, 6));
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->id, id);
  EXPECT_EQ(found->state, SandboxState::Running);
  EXPECT_EQ(found->spec.limits, spec_.limits);
  EXPECT_GT(found->time_left, 0ms);
  EXPECT_LE(found->time_left, spec_.ttl);
  EXPECT_EQ(runtime_->list(spec_.labels)->size(), 1U);
  EXPECT_TRUE(runtime_->list({{"purpose", "other"}})->empty());
  ASSERT_TRUE(runtime_->destroy(id));
  EXPECT_FALSE(is_listed(id));
  EXPECT_EQ(runtime_->destroy(id).error().code, ErrorCode::NotFound);
}

TEST_P(KeptConformance, UnknownIdIsNotFoundAndNonsenseIsRefused) {
  wire::CapturedOutput io;
  EXPECT_EQ(runtime_->exec(nobodys(), shell("true"), io).error().code, ErrorCode::NotFound);
  EXPECT_EQ(runtime_->destroy(nobodys()).error().code, ErrorCode::NotFound);
  for (const char* id : {"", "..", "../../etc", "x y", "ABCDEF", "n0000000000000"}) {
    EXPECT_EQ(runtime_->destroy(id).error().code, ErrorCode::InvalidArgument) << id;
  }
}

TEST_P(KeptConformance, KeepsFilesAndProcessesBetweenCommands) {
  const std::string id = create();
  // The child is a shell until it has become the sleep.
  exec(id, "echo kept > file; sleep 1000 & until grep -qx sleep /proc/$!/comm; do :; done");
  EXPECT_EQ(exec(id, "cat file; cat /proc/[0-9]*/comm | grep -cx sleep").output, "kept\n1\n");
}

TEST_P(KeptConformance, UsesOneStreamForCommandsAfterEachOther) {
  const std::string id = create();
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(exec(id, "echo on").output, "on\n");
  EXPECT_EQ(runtime_->streams().count(), 1U);
  ASSERT_TRUE(runtime_->pause(id));
  EXPECT_EQ(runtime_->streams().count(), 0U) << "init does not read while it is paused";
  ASSERT_TRUE(runtime_->resume(id));
  EXPECT_EQ(exec(id, "echo on").output, "on\n");
  ASSERT_TRUE(runtime_->destroy(id));
  EXPECT_EQ(runtime_->streams().count(), 0U);
}

TEST_P(KeptConformance, ReachesServersInside) {
  constexpr std::uint16_t kPort = 8080;
  const std::string id = create();
  const auto refused = InsideConnection::dial(*runtime_, id, kPort);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::Unavailable);
  EXPECT_THAT(refused.error().message, HasSubstr("no server listens on port 8080"));
  EXPECT_EQ(runtime_->streams().count(), 1U);
  if (exec(id, "command -v python3").output.empty()) return;  // images have only a shell
  exec(id,
       "python3 -c 'import socket\n"
       "s = socket.create_server((\"127.0.0.1\", 8080))\n"
       "open(\"ready\", \"w\").close()\n"
       "c = s.accept()[0]\n"
       "c.sendall(b\"you said \" + c.recv(100))' >/dev/null 2>&1 & "
       "until [ -e ready ]; do :; done");
  auto connection = InsideConnection::dial(*runtime_, id, kPort);
  ASSERT_TRUE(connection) << connection.error().message;
  auto socket = InsideSocket::open(std::move(*connection), -1);
  ASSERT_TRUE(socket);
  UniqueFd ours = (*socket)->take();
  ASSERT_TRUE(write_all(ours.get(), "hello"));
  EXPECT_EQ(read_all(ours.get(), 1000).value_or(""), "you said hello");
  ours.reset();
  socket->reset();
  EXPECT_EQ(exec(id, "echo on").output, "on\n");
}

// Figures that a host does not count are missing.
TEST_P(KeptConformance, HasStatsAlsoWhilePaused) {
  constexpr std::uint64_t kFile = 20'000'000;
  const std::string id = create();
  exec(id,
       "sleep 1000 & head -c 20000000 /dev/zero > file; i=0; "
       "while [ $i -lt 200000 ]; do i=$((i+1)); done");
  ASSERT_TRUE(runtime_->pause(id));
  const auto stats = runtime_->stats(id);
  ASSERT_TRUE(runtime_->resume(id));
  if (!stats && stats.error().code == ErrorCode::Unsupported) GTEST_SKIP() << stats.error().message;
  ASSERT_TRUE(stats) << stats.error().message;
  EXPECT_GE(stats->memory_bytes.value_or(kFile), kFile);
  EXPECT_LE(stats->memory_bytes.value_or(0), spec_.limits.memory_bytes);
  if (stats->peak_memory_bytes) {
    EXPECT_GE(*stats->peak_memory_bytes, stats->memory_bytes.value_or(0));
  }
  EXPECT_GT(stats->cpu_time.value_or(1s), 20ms);
  EXPECT_LT(stats->cpu_time.value_or(1s), 60s);
  EXPECT_GE(stats->processes.value_or(2), 2U);
  EXPECT_LE(stats->processes.value_or(0), spec_.limits.processes + 2);
  EXPECT_EQ(runtime_->stats(nobodys()).error().code, ErrorCode::NotFound);
}

TEST_P(KeptConformance, KeepsCommandsResultsApart) {
  const std::string id = create();
  EXPECT_EQ(exec(id, "exit 4").result.exit_code, 4);
  EXPECT_EQ(exec(id, "echo ok").output, "ok\n");
  EXPECT_EQ(exec(id, "exit 0").result.exit_code, 0);
}

TEST_P(KeptConformance, TwoDoNotSeeEachOther) {
  const std::string first = create();
  const std::string second = create();
  ASSERT_NE(first, second);
  exec(first, "echo secret > /tmp/mine; sleep 1000 &");
  EXPECT_EQ(exec(second, "ls /tmp ~; cat /proc/[0-9]*/comm | grep -cx sleep").output,
            "/tmp:\nhome\n\n/tmp/home:\n0\n");
  ASSERT_TRUE(runtime_->destroy(first));
  EXPECT_EQ(exec(second, "echo alive").output, "alive\n");
}

TEST_P(KeptConformance, TakesAndGivesFiles) {
  auto client = runtime_->connect(create());
  ASSERT_TRUE(client) << client.error().message;
  std::string bytes;
  for (int i = 0; i < 300'000; ++i)
    bytes += static_cast<char>(i * 31 + i / 251);
  std::size_t sent = 0;
  const auto written = client->write_file({"/workspace/file", 0640, 0, 0},
                                          [&](std::size_t most) -> Result<std::string> {
                                            const std::string part = bytes.substr(sent, most);
                                            sent += part.size();
                                            return part;
                                          });
  ASSERT_TRUE(written) << written.error().message;
  const auto read = [&](std::uint64_t offset, std::uint64_t length) {
    std::string got;
    const auto done = client->read_file({"/workspace/file", offset, length, 0},
                                        [&](std::string_view part) -> Result<> {
                                          got += part;
                                          return {};
                                        });
    EXPECT_TRUE(done) << done.error().message;
    return got;
  };
  EXPECT_TRUE(read(0, 1U << 30U) == bytes);
  EXPECT_TRUE(read(1000, 70'000) == bytes.substr(1000, 70'000));
  EXPECT_EQ(read(bytes.size(), 10), "");
  EXPECT_EQ(client->stat("/workspace/file")->size, bytes.size());
  EXPECT_EQ(client->stat("/workspace/file")->mode, 0640U);
}

TEST_P(KeptConformance, WalksTrees) {
  const std::string id = create();
  exec(id, "mkdir -p a/b; echo x > a/b/c; ln -s / a/out");
  auto client = runtime_->connect(id);
  ASSERT_TRUE(client) << client.error().message;
  std::vector<std::string> paths;
  const auto walked = client->walk("/workspace/a", [&](const wire::FileInfo& entry) -> Result<> {
    paths.push_back(entry.path);
    return {};
  });
  ASSERT_TRUE(walked) << walked.error().message;
  EXPECT_THAT(paths, testing::UnorderedElementsAre("b", "b/c", "out"));
}

TEST_P(KeptConformance, FilesOutsideItsScratchCannotBeReplaced) {
  auto client = runtime_->connect(create());
  ASSERT_TRUE(client) << client.error().message;
  const auto nothing = [](std::size_t) -> Result<std::string> { return std::string(); };
  EXPECT_FALSE(client->write_file({"/etc/passwd", 0644, 0, 0}, nothing));
  EXPECT_FALSE(client->write_file({"/usr/bin/sh", 0755, 0, 0}, nothing));
}

// The most seconds between two looks at the clock of a process that looks all the time.
constexpr const char* kLargestGap =
    "awk '{ if (NR > 1 && $1 - last > most) most = $1 - last; last = $1 } END { print most + 0 }' "
    "ticks";

TEST_P(KeptConformance, PausedStandsStillAndResumedGoesOn) {
  for (const bool is_for_one_command : {false, true}) {
    spec_.is_for_one_command = is_for_one_command;
    const std::string id = create();
    exec(id,
         "while :; do cat /proc/uptime >> ticks; sleep 0.01; done & "
         "until test -s ticks; do sleep 0.01; done");
    ASSERT_TRUE(runtime_->pause(id));
    EXPECT_EQ(runtime_->find(id)->state, SandboxState::Paused);
    std::this_thread::sleep_for(1s);
    ASSERT_TRUE(runtime_->resume(id));
    EXPECT_EQ(runtime_->find(id)->state, SandboxState::Running);
    const std::string grows = "a=$(wc -c <ticks); sleep 0.5; b=$(wc -c <ticks); test $b -gt $a";
    EXPECT_EQ(exec(id, grows).result.exit_code, 0);
    EXPECT_GE(std::stod("0" + exec(id, kLargestGap).output), 0.9) << is_for_one_command;
  }
}

TEST_P(KeptConformance, PausedCanBeDestroyed) {
  const std::string id = create();
  ASSERT_TRUE(runtime_->pause(id));
  ASSERT_TRUE(runtime_->destroy(id));
  EXPECT_FALSE(is_listed(id));
}

TEST_P(KeptConformance, EndsAtItsTtl) {
  spec_.ttl = 1s;
  const std::string id = create();
  const auto patience = std::chrono::steady_clock::now() + 20s;
  while (is_listed(id) && std::chrono::steady_clock::now() < patience) {
  }
  EXPECT_FALSE(is_listed(id));
}

TEST_P(KeptConformance, OutlivesTheProcessThatMadeIt) {
  const std::string id = create();
  make_runtime();
  EXPECT_TRUE(is_listed(id));
  EXPECT_EQ(exec(id, "echo still here").output, "still here\n");
}

INSTANTIATE_TEST_SUITE_P(Every, KeptConformance, testing::ValuesIn(backend_names()), name_of);

}  // namespace
}  // namespace nutshell
