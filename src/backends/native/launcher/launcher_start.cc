// How the launcher makes a sandbox and keeps it: by a Start request.
#include <sys/epoll.h>

#include <algorithm>

#include "backends/native/launcher/launcher.h"
#include "backends/native/launcher/launcher_messages.h"

namespace nutshell::native {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr std::size_t kMostSandboxes = 100'000;
constexpr auto kFreshStart = 50ms;  // in which the launcher leaves the CPU to a new sandbox
constexpr milliseconds kLongestLinger = 10min;

}  // namespace

// Says how a sandbox that starts is kept.
struct Launcher::Order {
  SandboxSpec spec;
  SavingOrder saving;
  bool is_one_shot = false;
};

Result<std::string> Launcher::keep(NativeSandbox sandbox, Order order) {
  SandboxSpec& spec = order.spec;
  HiddenEnvironment environment;
  auto kept = Starter::put_aside(sandbox);
  if (kept && !order.is_one_shot) kept = environment.hide(spec.environment);
  spec.environment = std::vector<std::string>();
  const std::uint64_t key = ++last_key_;
  if (kept && sandboxes_.size() >= kMostSandboxes)
    kept = failure(ErrorCode::ResourceExhausted, "too many sandboxes: destroy some first");
  if (kept) kept = watch(sandbox.init.descriptor(), key, EPOLLIN);
  if (!kept) {
    (void)starter_.finish(std::move(sandbox));
    return Failure(std::move(kept).error());
  }
  const auto ttl = std::min(spec.ttl, milliseconds(static_cast<std::int64_t>(kMostLeftMs)));
  KeptSandbox added{.key = key,
                    .spec = std::move(spec),
                    .environment = std::move(environment),
                    .sandbox = std::move(sandbox),
                    .saving = std::move(order.saving),
                    .saver = {},
                    .started = Clock::now(),
                    .ttl_end = {},
                    .end = {},
                    .listed_end = {},
                    .is_listed = !order.is_one_shot,
                    .requests = {}};
  added.move_end(ttl);
  std::string id = sandboxes_.add(std::move(added));
  auto saver = start_saver(id, *sandboxes_.find(id));
  if (saver) return id;
  (void)end_sandbox(id, {});
  return while_doing("start the process that saves the changes", std::move(saver).error());
}

Result<> Launcher::start_saver(const std::string& id, KeptSandbox& kept) const {
  const bool has_changes = !kept.spec.workspace.empty() && kept.sandbox.store;
  const bool is_saved = !kept.saving.place.empty() || !kept.saving.caches.empty();
  if (!has_changes || !is_saved || !save_) return {};
  SandboxStatus status = KeptSandboxes::status_of(id, kept);
  status.created = std::chrono::system_clock::now() - status.age;
  kept.saver = TRY(WorkspaceSaver::start({kept.sandbox, status, kept.saving, save_}));
  return {};
}

class Launcher::StartTask : public LauncherTask {
 public:
  StartTask(Launcher& launcher, NativeSandbox sandbox, Order order)
      : launcher_(launcher), sandbox_(std::move(sandbox)), order_(std::move(order)) {}

  Result<std::optional<Awaited>> proceed(LauncherAnswer& answer) override {
    auto started = Starter::has_started(*sandbox_);
    if (!started) {
      abandon();
      return Failure(std::move(started).error());
    }
    if (!*started) return Awaited{sandbox_->report.get(), EPOLLIN};
    report_ = std::move(sandbox_->report);  // must stay open while it is watched
    if (order_.is_one_shot) answer.descriptors.push_back(std::move(sandbox_->stream));
    answer.reply.id = TRY(launcher_.keep(std::move(*sandbox_), std::move(order_)));
    return std::optional<Awaited>();
  }

  void abandon() override { (void)launcher_.starter_.finish(std::move(*sandbox_)); }

 private:
  Launcher& launcher_;
  std::optional<NativeSandbox> sandbox_;
  UniqueFd report_;
  Order order_;
};

Result<> Launcher::check_one_shot(const LauncherRequest& request) const {
  const bool is_alike = !origin_.circumstances.empty() && !origin_.program.empty() &&
                        request.circumstances == origin_.circumstances &&
                        request.program == origin_.program;
  if (!is_alike) return failure(ErrorCode::Unsupported, "the launcher runs in other circumstances");
  TRY(check_start(starter_.abilities(), request.spec));
  return {};
}

Result<> Launcher::start(const LauncherRequest& request, std::uint64_t client) {
  const bool is_one_shot = request.is_one_shot != 0;
  if (is_one_shot) TRY(check_one_shot(request));
  idle_time_ = milliseconds(static_cast<std::int64_t>(
      std::min<std::uint64_t>(request.linger_ms, kLongestLinger.count())));
  NativeSandbox sandbox =
      TRY(starter_.start(request.spec, is_one_shot ? EndsWith::Connection : EndsWith::Owner));
  PendingRequest pending;
  pending.client = client;
  pending.request.operation = Operation::Start;
  pending.request.ends_with_client = request.ends_with_client;
  pending.request.is_one_shot = request.is_one_shot;
  pending.task = std::make_unique<StartTask>(
      *this, std::move(sandbox),
      Order{request.spec,
            {request.saved_in, request.saved_bounds, request.caches_in, request.caches_bounds},
            is_one_shot});
  pending.deadline = Deadline::in(kStartTime);
  quiet_until_ = Deadline::in(kFreshStart);
  add_request(++last_key_, std::move(pending));
  return {};
}

void Launcher::finish_start(const PendingRequest& pending, const std::string& id) {
  const auto client = clients_.find(pending.client);
  if (client == clients_.end()) {
    (void)end_sandbox(id, {});  // its id has reached no client
  } else if (pending.request.ends_with_client != 0 || pending.request.is_one_shot != 0) {
    client->second.unreleased.insert(id);
  }
}

}  // namespace nutshell::native
