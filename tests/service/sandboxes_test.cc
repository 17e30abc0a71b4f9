#include <atomic>
#include <nlohmann/json.hpp>

#include "audit/chains.h"
#include "audit/verify.h"
#include "service/batch.h"
#include "service/evidence.h"
#include "service/execs/init_streams.h"
#include "service/health.h"
#include "service/sandboxes/sandbox_files.h"
#include "service/sandboxes/sandbox_network.h"
#include "service/sandboxes/spec_text.h"
#include "service/sessions/sessions.h"
#include "service_fixture.h"

namespace nutshell::service {
namespace {

using testing::HasSubstr;
using testing::Not;

using SandboxesTest = ServiceTest;

TEST_F(SandboxesTest, AreMadeUsedAndEnded) {
  const std::string id = create(alice_);
  const auto ran = exec(alice_, id, "echo hello; exit 3");
  EXPECT_EQ(ran.output, "hello\n") << ran.problem;
  EXPECT_EQ(ran.result.exit_code, 3);
  EXPECT_GT(ran.audit_id, 0U);
  EXPECT_EQ(service_->list(alice_, {})->sandboxes.size(), 1U);
  EXPECT_TRUE(service_->destroy(alice_, id));
  EXPECT_TRUE(service_->list(alice_, {})->sandboxes.empty());
  EXPECT_EQ(service_->destroy(alice_, id).error().code, ErrorCode::NotFound);
  EXPECT_EQ(running(), 0U);
}

TEST_F(SandboxesTest, HidesSandboxesOfOtherTenants) {
  const std::string id = create(alice_);
  const std::string none = "n0123456789ab";
  wire::CapturedOutput io;
  const auto others = service_->exec(bob_, id, shell("true"), {}, io);
  const auto nones = service_->exec(bob_, none, shell("true"), {}, io);
  ASSERT_FALSE(others);
  ASSERT_FALSE(nones);
  std::string same = nones.error().message;
  same.replace(same.find(none), none.size(), id);
  EXPECT_EQ(others.error().message, same);
  EXPECT_EQ(others.error().code, nones.error().code);
  EXPECT_FALSE(service_->destroy(bob_, id));
  EXPECT_FALSE(service_->find(bob_, id));
  EXPECT_FALSE(service_->pause(bob_, id));
  EXPECT_FALSE(service_->streams().open(bob_, id));
  EXPECT_FALSE(service_->files().stat(bob_, id, "/"));
  EXPECT_EQ(service_->network().status(bob_, id).error().code, ErrorCode::NotFound);
  EXPECT_EQ(service_->network().set(bob_, id, {}).error().code, ErrorCode::NotFound);
  EXPECT_EQ(service_->network().events(bob_, id, 0).error().code, ErrorCode::NotFound);
  EXPECT_TRUE(service_->list(bob_, {})->sandboxes.empty());
  const auto records = service_->evidence().records(bob_, {});
  for (const audit::Record& record : *records)
    EXPECT_EQ(record.entry.tenant, "bob");
  EXPECT_FALSE(service_->evidence().history(bob_, id));
}

TEST_F(SandboxesTest, MadeByRemoteCallersCannotNameHostFiles) {
  for (const auto& change : std::vector<std::function<void(SandboxSpec&)>>{
           [](SandboxSpec& spec) { spec.workspace = "/etc"; },
           [](SandboxSpec& spec) {
             spec.unsafe_mounts.push_back({"/", "/host", {}});
           },
           [](SandboxSpec& spec) { spec.image = "/"; },
           [](SandboxSpec& spec) { spec.unsafe_without = {"seccomp"}; }}) {
    SandboxSpec spec;
    change(spec);
    const auto made = service_->create(bob_, {spec, {}});
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, ErrorCode::PermissionDenied);
    EXPECT_FALSE(service_->sessions().ensure(bob_, {.name = "s", .spec = spec}));
  }
  SandboxSpec own;
  own.labels["nutshell.tenant"] = "alice";
  EXPECT_FALSE(service_->create(bob_, {own, {}}));
}

// Each way to make a sandbox, after the operator took the backend from the tenant.
TEST_F(SandboxesTest, AreCheckedAgainstTheOperatorsListsHoweverMade) {
  const auto id = service_->create(bob_, {{}, {}});
  if (!id) GTEST_SKIP() << id.error().message;
  const auto session = service_->sessions().ensure(bob_, {.name = "s"});
  ASSERT_TRUE(session) << session.error().message;
  EXPECT_TRUE(service_->fork(bob_, id->id));
  TenantRules rules = options_.rules;
  rules.allowed.backends = {"none"};
  service_->set_rules(rules);
  const auto is_denied = [](const auto& result) {
    return !result && result.error().code == ErrorCode::PermissionDenied;
  };
  const auto before = running();
  EXPECT_TRUE(is_denied(service_->create(bob_, {{}, {}})));
  EXPECT_TRUE(is_denied(service_->fork(bob_, id->id)));
  EXPECT_TRUE(is_denied(service_->sessions().ensure(bob_, {.name = "other"})));
  EXPECT_TRUE(service_->destroy(bob_, session->sandbox_id));
  EXPECT_TRUE(is_denied(service_->sessions().ensure(bob_, {.name = "s"})));
  BatchRequest batch;
  batch.items.push_back({shell("true"), {}});
  const auto results =
      run_batch(*service_, bob_, batch, [](std::size_t, const BatchResult&) { return Result<>(); });
  ASSERT_TRUE(results);
  EXPECT_TRUE(is_denied(results->front().result));
  EXPECT_EQ(running(), before - 1);
  EXPECT_TRUE(service_->fork({"bob", "owner", HostFiles::Allowed}, id->id));
}

TEST_F(SandboxesTest, AreForkedWithEverythingThatWasAskedFor) {
  SandboxSpec spec = spec_;
  spec.requirements = {{"seccomp", true}};
  spec.environment = {"A=b"};
  spec.labels["k"] = "v";
  const auto made = service_->create(alice_, {spec, {}});
  ASSERT_TRUE(made) << made.error().message;
  const auto forked = service_->fork(alice_, made->id);
  ASSERT_TRUE(forked) << forked.error().message;
  const auto first = service_->spec_of(alice_, made->id);
  const auto second = service_->spec_of(alice_, forked->id);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(hash_of_spec(*first), hash_of_spec(*second));
  ASSERT_EQ(second->requirements.size(), 1U);
  EXPECT_EQ(second->requirements.front().protection, "seccomp");
  EXPECT_EQ(second->runtime, spec_.runtime);
}

TEST_F(SandboxesTest, FollowAQuotaThatChanges) {
  TenantRules rules = options_.rules;
  rules.quotas["alice"] = rules.default_quota;
  rules.quotas["alice"][Resource::Sandboxes] = 1;
  service_->set_rules(rules);
  const std::string first = create(alice_);
  EXPECT_FALSE(service_->create(alice_, {spec_, {}}));
  rules.quotas["alice"][Resource::Sandboxes] = 2;
  service_->set_rules(rules);
  create(alice_);
  rules.quotas["alice"][Resource::Sandboxes] = 1;
  service_->set_rules(rules);
  EXPECT_EQ(exec(alice_, first, "echo here").output, "here\n");  // what it holds stays
  EXPECT_TRUE(service_->destroy(alice_, first));
  EXPECT_FALSE(service_->create(alice_, {spec_, {}}));
}

TEST_F(SandboxesTest, StayWithinTheQuotaHoweverManyAsk) {
  service_.reset();
  options_.rules.quotas["alice"] = options_.rules.default_quota;
  options_.rules.quotas["alice"][Resource::Sandboxes] = 5;
  open();
  std::atomic<int> made = 0;
  std::atomic<int> refused = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 16; ++i) {
      threads.emplace_back([&] {
        const auto one = service_->create(alice_, {spec_, {}});
        if (one) ++made;
        if (!one && one.error().code == ErrorCode::ResourceExhausted) ++refused;
      });
    }
  }
  EXPECT_EQ(made, 5);
  EXPECT_EQ(refused, 11);
  EXPECT_EQ(running(), 5U);
  EXPECT_TRUE(service_->create(bob_, {{}, {}}) || !spec_.unsafe_without.empty());
}

TEST_F(SandboxesTest, AreMadeOnceForEachIdempotencyKey) {
  std::vector<std::string> ids(8);
  {
    std::vector<std::jthread> threads;
    for (std::string& id : ids)
      threads.emplace_back([&] { id = service_->create(alice_, {spec_, "key"})->id; });
  }
  for (const std::string& id : ids)
    EXPECT_EQ(id, ids.front());
  EXPECT_EQ(running(), 1U);
  restart();
  EXPECT_EQ(service_->create(alice_, {spec_, "key"})->id, ids.front());
  SandboxSpec other = spec_;
  other.limits.processes = 10;
  const auto refused = service_->create(alice_, {other, "key"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::AlreadyExists);
}

TEST_F(SandboxesTest, EndAtTheirTtlUnlessItIsExtended) {
  spec_.ttl = 2s;
  const std::string ends = create(alice_);
  const std::string stays = create(alice_);
  ASSERT_TRUE(service_->extend(alice_, stays, 60s));
  EXPECT_TRUE(soon([&] { return !service_->find(alice_, ends); }));
  EXPECT_TRUE(service_->find(alice_, stays));
  EXPECT_FALSE(service_->extend(alice_, stays, 366 * 24h));
  EXPECT_FALSE(service_->extend(alice_, stays, -1s));
  EXPECT_TRUE(soon([&] { return running() == 1; }));
}

TEST_F(SandboxesTest, PauseStopsTheTtl) {
  spec_.ttl = 2s;
  const std::string id = create(alice_);
  ASSERT_TRUE(service_->pause(alice_, id));
  std::this_thread::sleep_for(2500ms);
  const auto paused = service_->find(alice_, id);
  ASSERT_TRUE(paused);
  EXPECT_EQ(paused->state, SandboxState::Paused);
  EXPECT_THAT(exec(alice_, id, "true").problem, HasSubstr("paused"));
  restart();
  ASSERT_TRUE(service_->find(alice_, id));
  EXPECT_EQ(service_->find(alice_, id)->state, SandboxState::Paused);
  ASSERT_TRUE(service_->resume(alice_, id));
  EXPECT_GT(service_->find(alice_, id)->time_left, 100ms);
  EXPECT_EQ(exec(alice_, id, "echo on").output, "on\n");
  EXPECT_TRUE(soon([&] { return !service_->find(alice_, id); }));
}

TEST_F(SandboxesTest, EndWhenNobodyUsesThem) {
  spec_.idle_timeout = 1500ms;
  const std::string id = create(alice_);
  EXPECT_EQ(exec(alice_, id, "sleep 2; echo still").output, "still\n");
  EXPECT_TRUE(soon([&] { return !service_->find(alice_, id); }));
}

TEST_F(SandboxesTest, AreFoundAgainAfterARestart) {
  spec_.environment = {"A=1"};
  spec_.labels["k"] = "v";
  spec_.ttl = 100s;
  const std::string id = create(alice_);
  exec(alice_, id, "echo kept > /workspace/f");
  const auto left = service_->find(alice_, id)->time_left;
  restart();
  const auto found = service_->find(alice_, id);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_LE(found->time_left, left);
  EXPECT_EQ(found->spec.labels.at("k"), "v");
  EXPECT_EQ(found->spec.labels.size(), 1U);
  EXPECT_EQ(found->spec.ttl, 100s);
  EXPECT_EQ(exec(alice_, id, "cat /workspace/f; echo $A").output, "kept\n1\n");
  EXPECT_FALSE(service_->find(bob_, id));
}

TEST_F(SandboxesTest, MadeByTheCommandLineBelongToTheLocalTenant) {
  const auto id = runtime_->create(spec_);
  ASSERT_TRUE(id) << id.error().message;
  const Caller local{"local", "uid 0", HostFiles::Allowed};
  EXPECT_TRUE(soon([&] { return service_->find(local, *id).has_value(); }));
  EXPECT_FALSE(service_->find(alice_, *id));
  EXPECT_FALSE(service_->extend(local, *id, 10s));
  EXPECT_EQ(exec(local, *id, "echo x").output, "x\n");
  EXPECT_TRUE(service_->destroy(local, *id));
}

TEST_F(SandboxesTest, AreForgottenOnceTheyHaveDied) {
  const std::string id = create(alice_);
  ASSERT_TRUE(runtime_->destroy(id));
  EXPECT_TRUE(soon([&] { return !service_->find(alice_, id); }));
}

TEST_F(SandboxesTest, CanBeForked) {
  const std::string id = create(alice_);
  exec(alice_, id, "echo one > /workspace/f");
  const auto fork = service_->fork(alice_, id);
  ASSERT_TRUE(fork) << fork.error().message;
  EXPECT_EQ(exec(alice_, fork->id, "cat /workspace/f").output, "one\n");
}

TEST_F(SandboxesTest, GiveAndTakeFiles) {
  const std::string id = create(alice_);
  std::string content = "some\0bytes";
  ASSERT_TRUE(service_->files().write(
      alice_, id, {"/workspace/f", 0600, 0, 0},
      [&content](std::size_t) -> Result<std::string> { return std::exchange(content, {}); }));
  std::string read;
  ASSERT_TRUE(service_->files().read(alice_, id, {"/workspace/f", 0, 100, 0},
                                     [&read](std::string_view bytes) -> Result<> {
                                       read += bytes;
                                       return {};
                                     }));
  EXPECT_EQ(read, "some\0bytes");
  EXPECT_EQ(service_->files().stat(alice_, id, "/workspace/f")->size, read.size());
  EXPECT_TRUE(service_->files().remove(alice_, id, {"/workspace/f", 0}));
  EXPECT_EQ(service_->files().remove(alice_, id, {"/workspace/f", 0}).error().code,
            ErrorCode::NotFound);
}

TEST_F(SandboxesTest, CanBeAskedToUseTools) {
  const std::string id = create(alice_);
  const auto reply = service_->call_tool(alice_, id, "bash", {{"command", "echo tool"}}, {});
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_THAT(reply->result.text, HasSubstr("tool"));
  EXPECT_GT(reply->audit_id, 0U);
  EXPECT_FALSE(service_->call_tool(alice_, id, "no_such_tool", nlohmann::json::object(), {}));
}

TEST_F(SandboxesTest, AreWrittenDownWithoutTheirSecrets) {
  spec_.environment = {"DB_PASSWORD=swordfish-one", "PLAIN=hello"};
  const std::string id = create(alice_);
  exec(alice_, id, "echo swordfish-one; export T=ghp_0123456789abcdefghijABCDEFGHIJ");
  service_->call_tool(alice_, id, "bash", {{"command", "echo swordfish-one"}}, {}).value();
  const std::string all = [&] {
    std::string text;
    const std::filesystem::recursive_directory_iterator files(scratch_ / "state" / "audit");
    for (const auto& file : files) {
      if (!file.is_regular_file()) continue;
      std::ifstream stream(file.path(), std::ios::binary);
      text.append(std::istreambuf_iterator<char>(stream), {});
    }
    return text;
  }();
  EXPECT_THAT(all, Not(HasSubstr("swordfish-one")));
  EXPECT_THAT(all, Not(HasSubstr("ghp_0123")));
  EXPECT_THAT(all, HasSubstr("PLAIN=hello"));
  const auto history = service_->evidence().history(alice_, id);
  ASSERT_TRUE(history) << history.error().message;
  ASSERT_EQ(history->size(), 2U);
  EXPECT_EQ(history->front().outcome, "exited 0");
  const auto chain = audit::chain_of(scratch_ / "state" / "audit", "alice");
  EXPECT_EQ(audit::verify(chain)->finding, audit::Verdict::Finding::Intact);
}

TEST_F(SandboxesTest, TellWhichFilesACommandChanged) {
  const std::string id = create(alice_);
  exec(alice_, id, "echo a > a; echo b > b");
  wire::CapturedOutput io;
  const auto reply = service_->exec(alice_, id, shell("echo more >> a; rm b; echo c > c"),
                                    {TraceLevel::Files, {}}, io);
  ASSERT_TRUE(reply) << reply.error().message;
  std::map<std::string, wire::ChangeKind> kinds;
  for (const wire::FileChange& change : reply->trace.files)
    kinds[change.path] = change.kind;
  EXPECT_EQ(kinds.size(), 3U);
  EXPECT_EQ(kinds["b"], wire::ChangeKind::Removed);
  EXPECT_EQ(kinds["c"], wire::ChangeKind::Added);
  EXPECT_TRUE(kinds.contains("a"));
}

TEST_F(SandboxesTest, RunManyAtOnceInOrder) {
  BatchRequest request;
  request.spec = spec_;
  for (int i = 0; i < 12; ++i)
    request.items.push_back(
        {shell("cat f; exit " + std::to_string(i)), {{"/workspace/f", std::to_string(i)}}});
  std::size_t told = 0;
  const auto results = run_batch(*service_, alice_, request, [&](auto, const auto&) -> Result<> {
    ++told;
    return {};
  });
  ASSERT_TRUE(results) << results.error().message;
  for (int i = 0; i < 12; ++i) {
    const BatchResult& result = (*results)[static_cast<std::size_t>(i)];
    ASSERT_TRUE(result.result) << result.result.error().message;
    EXPECT_EQ(result.result->exit_code, i);
    EXPECT_EQ(result.output, std::to_string(i));
  }
  EXPECT_EQ(told, 12U);
  EXPECT_EQ(running(), 0U);
}

TEST_F(SandboxesTest, ASecondServiceOnTheSameStateIsRefused) {
  const auto second = Service::open(options_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::AlreadyExists);
}

TEST_F(SandboxesTest, ADamagedStateFileIsRefusedAndItsSandboxesCanBeAdoptedWithoutIt) {
  const std::string id = create(alice_);
  service_.reset();
  const auto file = scratch_ / "state" / "state.db";
  std::filesystem::remove(file.native() + "-wal");
  std::ofstream(file) << std::string(8192, 'x');
  const auto refused = Service::open(options_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::Corrupt);
  std::filesystem::rename(file, file.native() + ".damaged");
  open();
  EXPECT_TRUE(service_->find(alice_, id));  // its label says whose it is
  EXPECT_FALSE(service_->find(bob_, id));
}

TEST_F(SandboxesTest, AreNotStartedWhileTheServiceDrains) {
  service_->drain(Deadline::in(1s));
  EXPECT_FALSE(service_->create(alice_, {spec_, {}}));
  EXPECT_EQ(service_->health().why_not_ready(), "the daemon is stopping");
}

}  // namespace
}  // namespace nutshell::service
