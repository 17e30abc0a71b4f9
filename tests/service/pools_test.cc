#include "service/pools/pools.h"

#include <atomic>
#include <mutex>

#include "service_fixture.h"

namespace nutshell::service {
namespace {

using testing::HasSubstr;
using testing::Not;

class PoolsTest : public ServiceTest {
 protected:
  static constexpr auto kPatience = 90s;  // starts of another kernel, on a busy machine

  void define(std::uint32_t min_idle, std::uint32_t max_total) {
    PoolSpec pool;
    pool.name = "p";
    pool.spec = spec_;
    pool.min_idle = min_idle;
    pool.max_idle = max_total;
    pool.max_total = max_total;
    options_.pools = {pool};
    ASSERT_TRUE(service_->pools().define(pool));
    const auto warm = service_->pools().warm(alice_, "p", Deadline::in(kPatience));
    ASSERT_TRUE(warm) << warm.error().message;
    ASSERT_EQ(warm->available, min_idle) << warm->trouble;
  }
  AcquireRequest from_pool() {
    AcquireRequest request;
    request.pool = "p";
    return request;
  }
  AcquireRequest at_once() {
    AcquireRequest request = from_pool();
    request.wait = 0ms;
    return request;
  }
  PoolStatus status() { return service_->pools().status(alice_).at(0); }
};

TEST_F(PoolsTest, HandOutWhatWaits) {
  define(2, 4);
  AcquireRequest request = from_pool();
  request.labels["k"] = "v";
  request.ttl = 77s;
  const auto got = service_->pools().acquire(alice_, request);
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->spec.labels.at("k"), "v");
  EXPECT_EQ(got->spec.ttl, 77s);
  EXPECT_EQ(got->pool, "p");
  EXPECT_EQ(status().hits, 1U);
  EXPECT_EQ(status().in_use, 1U);
  EXPECT_EQ(exec(alice_, got->id, "echo hi").output, "hi\n");
  EXPECT_FALSE(service_->find(bob_, got->id));
  EXPECT_TRUE(soon([&] { return status().available == 2; }));
  ASSERT_TRUE(service_->pools().release(alice_, got->id));
  EXPECT_FALSE(service_->find(alice_, got->id));
  EXPECT_TRUE(soon([&] { return status().total == 2; }));
}

TEST_F(PoolsTest, BindAnEnvironmentAndLimitsLate) {
  define(1, 3);
  AcquireRequest request = from_pool();
  request.environment = {"WHO=me"};
  request.limits = spec_.limits;
  request.limits->processes = 33;
  const auto got = service_->pools().acquire(alice_, request);
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(exec(alice_, got->id, "echo $WHO").output, "me\n");
  EXPECT_EQ(got->spec.limits.processes, 33U);
  EXPECT_LE(status().total, 3U);
}

// Lines of the kernel's table, which gVisor's has not.
std::string segments(int count) {
  const bool is_gvisor = variable("NUTSHELL_SERVICE_BACKEND") == "gvisor" ||
                         variable("NUTSHELL_SERVICE_RUNTIME") == "runsc";
  return std::to_string(is_gvisor ? 0 : count + 1) + "\n";
}

TEST_F(PoolsTest, LeaveNothingOfTheLastTenant) {
  define(1, 1);
  const auto first = service_->pools().acquire(alice_, from_pool());
  ASSERT_TRUE(first) << first.error().message;
  const auto planted = exec(alice_, first->id,
                            "echo secret > /tmp/planted; echo secret > /workspace/planted;"
                            "echo secret > /dev/shm/planted 2>/dev/null;"
                            "git config --global user.name planted 2>/dev/null;"
                            "echo export PLANTED=1 >> ~/.profile 2>/dev/null;"
                            "ipcmk -M 4096 >/dev/null 2>&1; export PLANTED=1;"
                            "(setsid sleep 4711 >/dev/null 2>&1 &); echo done");
  EXPECT_EQ(planted.output, "done\n") << planted.problem;
  // They are there, or it would prove nothing that they are not found later.
  const auto there = exec(alice_, first->id,
                          "cat /tmp/planted /workspace/planted /dev/shm/planted;"
                          "git config --global user.name;"
                          "echo shared $(cat /proc/sysvipc/shm 2>/dev/null | wc -l);"
                          "cat /proc/[0-9]*/cmdline | tr '\\0' ' '");
  EXPECT_THAT(there.output, HasSubstr("secret\nsecret\nsecret\nplanted\nshared " + segments(1)));
  EXPECT_THAT(there.output, HasSubstr("sleep 4711"));
  ASSERT_TRUE(service_->pools().release(alice_, first->id));
  ASSERT_TRUE(soon([&] { return status().available == 1; }));
  const auto second = service_->pools().acquire(bob_, from_pool());
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_NE(second->id, first->id);
  const auto found = exec(
      bob_, second->id,
      "p=plan''ted; cat /tmp/$p /workspace/$p /dev/shm/$p ~/.gitconfig ~/.profile 2>/dev/null;"
      "env; ls -A /tmp /workspace /dev/shm 2>/dev/null; cat /proc/[0-9]*/cmdline | tr '\\0' ' ';"
      "echo; git config --list | cat; echo shared $(cat /proc/sysvipc/shm 2>/dev/null | wc -l)");
  EXPECT_THAT(found.output, HasSubstr("shared " + segments(0)));
  EXPECT_THAT(found.output, Not(HasSubstr("planted")));
  EXPECT_THAT(found.output, Not(HasSubstr("PLANTED")));
  EXPECT_THAT(found.output, Not(HasSubstr("secret")));
  EXPECT_THAT(found.output, Not(HasSubstr("4711")));
}

void raise_to(std::atomic<std::size_t>& most, std::size_t value) {
  std::size_t before = most;
  while (before < value && !most.compare_exchange_weak(before, value)) {
  }
}

// Every thread goes on until it was served: a refusal is at once, and would be no load at all.
TEST_F(PoolsTest, KeepTheirBoundUnderAnyLoad) {
  constexpr int kThreads = 12;
  constexpr int kTurns = 6;
  define(2, 4);
  std::atomic<std::size_t> held = 0;
  std::atomic<std::size_t> most_held = 0;
  std::atomic<std::size_t> most_alive = 0;
  std::atomic<int> got = 0;
  std::atomic<int> refused = 0;
  std::jthread watcher([&](const std::stop_token& stop) {
    while (!stop.stop_requested())
      raise_to(most_alive, running());
  });
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        const auto patience = Clock::now() + kPatience;
        for (int turn = 0; turn < kTurns && Clock::now() < patience;) {
          const auto one = service_->pools().acquire(alice_, at_once());
          if (!one) {
            EXPECT_EQ(one.error().code, ErrorCode::ResourceExhausted) << one.error().message;
            ++refused;
            std::this_thread::sleep_for(1ms);
            continue;
          }
          ++turn;
          ++got;
          raise_to(most_held, ++held);
          EXPECT_EQ(exec(alice_, one->id, "echo x").output, "x\n");
          --held;
          EXPECT_TRUE(service_->pools().release(alice_, one->id));
        }
      });
    }
  }
  watcher.request_stop();
  watcher.join();
  EXPECT_EQ(got, kThreads * kTurns);
  EXPECT_GT(refused, 0);     // there was more load than room
  EXPECT_GT(most_held, 1U);  // and several were in use at once
  EXPECT_LE(most_held, 4U);
  EXPECT_LE(most_alive, 4U);
  EXPECT_TRUE(soon([&] { return status().total == 2 && status().available == 2; }));
  EXPECT_EQ(running(), 2U);
}

TEST_F(PoolsTest, GiveTheSameSandboxForTheSameKey) {
  define(2, 4);
  AcquireRequest request = from_pool();
  request.idempotency_key = "once";
  const auto first = service_->pools().acquire(alice_, request);
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(service_->pools().acquire(alice_, request)->id, first->id);
  restart();
  EXPECT_EQ(service_->pools().acquire(alice_, request)->id, first->id);
  EXPECT_NE(service_->pools().acquire(bob_, request)->id, first->id);  // another's key
  AcquireRequest other = request;
  other.labels["k"] = "v";
  EXPECT_EQ(service_->pools().acquire(alice_, other).error().code, ErrorCode::AlreadyExists);
  // The same for a sandbox made for the request; once it is released, the key may be used again.
  AcquireRequest own = from_pool();
  own.environment = {"A=b"};
  own.idempotency_key = "own";
  const auto made = service_->pools().acquire(alice_, own);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(service_->pools().acquire(alice_, own)->id, made->id);
  ASSERT_TRUE(service_->pools().release(alice_, made->id));
  EXPECT_NE(service_->pools().acquire(alice_, own)->id, made->id);
}

TEST_F(PoolsTest, RefuseANetworkThatThereIsNot) {
  define(1, 2);
  AcquireRequest request = from_pool();
  request.network = "none";
  EXPECT_TRUE(service_->pools().acquire(alice_, request));
  request.network = "github.com:443";
  const auto refused = service_->pools().acquire(alice_, request);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::Unsupported);
}

TEST_F(PoolsTest, NeverHandOutADeadOne) {
  define(1, 2);
  const auto waiting = runtime_->list();
  ASSERT_EQ(waiting->size(), 1U);
  const auto destroyed = runtime_->destroy(waiting->front().id);
  ASSERT_TRUE(destroyed) << destroyed.error().message;
  std::this_thread::sleep_for(100ms);  // until its last process is gone
  const auto got = service_->pools().acquire(alice_, from_pool());
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(exec(alice_, got->id, "echo alive").output, "alive\n");
}

TEST_F(PoolsTest, RefuseWhenAllAreInUse) {
  define(1, 1);
  ASSERT_TRUE(service_->pools().acquire(alice_, from_pool()));
  const auto refused = service_->pools().acquire(alice_, at_once());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::ResourceExhausted);
  EXPECT_FALSE(service_->pools().acquire(alice_, {.pool = "no such pool"}));
  AcquireRequest patient = from_pool();
  patient.wait = 100ms;
  const auto begin = Clock::now();
  const auto late = service_->pools().acquire(alice_, patient);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::ResourceExhausted);
  EXPECT_THAT(late.error().message, HasSubstr("100 ms"));
  EXPECT_GE(Clock::now() - begin, 100ms);
  EXPECT_EQ(status().waiting, 0U);
}

TEST_F(PoolsTest, ServeThoseInLineInTheirOrder) {
  constexpr std::size_t kCallers = 5;
  define(1, 1);
  const auto held = service_->pools().acquire(alice_, from_pool());
  ASSERT_TRUE(held) << held.error().message;
  std::mutex mutex;
  std::vector<std::size_t> served;
  {
    std::vector<std::jthread> callers;
    for (std::size_t i = 0; i < kCallers; ++i) {
      callers.emplace_back([&, i] {
        AcquireRequest patient = from_pool();
        patient.wait = kCallers * kPatience;  // each turn ends one sandbox and starts another
        const auto got = service_->pools().acquire(alice_, patient);
        ASSERT_TRUE(got) << got.error().message;
        {
          const std::lock_guard lock(mutex);
          served.push_back(i);
        }
        EXPECT_EQ(exec(alice_, got->id, "echo x").output, "x\n");
        EXPECT_LE(running(), 1U);
        EXPECT_TRUE(service_->pools().release(alice_, got->id));
      });
      ASSERT_TRUE(soon([&] { return status().waiting == i + 1; }));
    }
    EXPECT_EQ(service_->pools().acquire(bob_, at_once()).error().code,
              ErrorCode::ResourceExhausted);
    ASSERT_TRUE(service_->pools().release(alice_, held->id));
  }
  EXPECT_EQ(served, (std::vector<std::size_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(status().waiting, 0U);
}

TEST_F(PoolsTest, GiveNothingToACallerThatIsGone) {
  define(1, 1);
  const auto held = service_->pools().acquire(alice_, from_pool());
  ASSERT_TRUE(held) << held.error().message;
  std::atomic<bool> is_there = true;
  AcquireRequest request = from_pool();
  request.is_wanted = [&is_there] { return is_there.load(); };
  std::jthread caller([&] {
    EXPECT_EQ(service_->pools().acquire(alice_, request).error().code, ErrorCode::Cancelled);
  });
  ASSERT_TRUE(soon([&] { return status().waiting == 1; }));
  is_there = false;
  ASSERT_TRUE(service_->pools().release(alice_, held->id));
  caller.join();
  EXPECT_EQ(status().in_use, 0U);
  EXPECT_TRUE(soon([&] { return status().available == 1; }));
}

TEST_F(PoolsTest, BoundTheWaitersAndRefuseThemOnceStopped) {
  service_.reset();
  options_.most_waiting = 1;
  open();
  define(1, 1);
  ASSERT_TRUE(service_->pools().acquire(alice_, from_pool()));
  std::jthread caller([&] {
    EXPECT_EQ(service_->pools().acquire(alice_, from_pool()).error().code, ErrorCode::Unavailable);
  });
  ASSERT_TRUE(soon([&] { return status().waiting == 1; }));
  const auto second = service_->pools().acquire(bob_, from_pool());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::ResourceExhausted);
  EXPECT_THAT(second.error().message, HasSubstr("1 callers wait"));
  service_->pools().stop_waiting();
  caller.join();
}

TEST_F(PoolsTest, CanBeDrainedAndWarmedAgain) {
  define(2, 3);
  EXPECT_EQ(*service_->pools().drain(alice_, "p"), 2U);
  EXPECT_TRUE(soon([&] { return running() == 0; }));
  EXPECT_EQ(service_->pools().warm(alice_, "p", Deadline::in(20s))->available, 2U);
}

TEST_F(PoolsTest, AreFoundAgainAfterARestart) {
  define(2, 4);
  const auto used = service_->pools().acquire(alice_, from_pool());
  ASSERT_TRUE(used);
  ASSERT_TRUE(soon([&] { return status().available == 2; }));
  restart();
  EXPECT_EQ(status().in_use, 1U);
  EXPECT_TRUE(soon([&] { return status().available == 2; }));
  EXPECT_EQ(exec(alice_, used->id, "echo mine").output, "mine\n");
  ASSERT_TRUE(service_->pools().release(alice_, used->id));
  EXPECT_TRUE(soon([&] { return status().total == 2; }));
}

TEST_F(PoolsTest, LetATenantWaitOnlyWithinItsShare) {
  service_.reset();
  options_.rules.quotas["alice"] = options_.rules.default_quota;
  options_.rules.quotas["alice"][Resource::Waiting] = 1;
  open();
  define(1, 1);
  const auto held = service_->pools().acquire(alice_, from_pool());
  ASSERT_TRUE(held);
  AcquireRequest patient = from_pool();
  patient.wait = 60s;
  std::jthread first([&] { (void)service_->pools().acquire(alice_, patient); });
  ASSERT_TRUE(soon([&] { return status().waiting == 1; }));
  const auto second = service_->pools().acquire(alice_, patient);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("places in the lines for pools"));
  std::jthread others([&] { (void)service_->pools().acquire(bob_, patient); });
  EXPECT_TRUE(soon([&] { return status().waiting == 2; }));
  service_->pools().stop_waiting();
}

TEST_F(PoolsTest, GiveBackWhatTheQuotaRefuses) {
  service_.reset();
  options_.rules.quotas["alice"] = options_.rules.default_quota;
  options_.rules.quotas["alice"][Resource::Sandboxes] = 1;
  open();
  define(2, 4);
  ASSERT_TRUE(service_->pools().acquire(alice_, from_pool()));
  EXPECT_EQ(service_->pools().acquire(alice_, from_pool()).error().code,
            ErrorCode::ResourceExhausted);
  EXPECT_EQ(status().in_use, 1U);
  EXPECT_TRUE(service_->pools().acquire(bob_, from_pool()));
}

}  // namespace
}  // namespace nutshell::service
