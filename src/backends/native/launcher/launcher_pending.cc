// The requests of clients that cannot be answered at once: those of one sandbox are done one after
// the other, those of different sandboxes at the same time.
#include <fmt/format.h>
#include <signal.h>
#include <sys/epoll.h>

#include <algorithm>

#include "backends/native/launcher/launcher.h"

namespace nutshell::native {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr auto kStartTime = 20s;
constexpr auto kEndTime = 20s;
constexpr auto kRestackTime = 10s;
constexpr auto kOperationTime = 5s;
constexpr auto kLookAgain = 2ms;    // at what no descriptor tells
constexpr auto kFreshStart = 50ms;  // in which nothing else takes its CPU
// So that one silent sandbox does not take all places of clients.
constexpr std::size_t kMostWaiting = 64;
constexpr std::uint64_t kMostLeftMs = 1ULL << 40U;

Failure overdue(const LauncherRequest& request) {
  if (request.operation == Operation::Start) {
    return failure(ErrorCode::DeadlineExceeded, "start the sandbox: it did not start in time");
  }
  if (request.operation == Operation::Stop) {
    return failure(ErrorCode::DeadlineExceeded,
                   fmt::format("sandbox {} was killed, but the kernel has not ended all of its "
                               "processes yet",
                               request.id));
  }
  return failure(ErrorCode::Unavailable,
                 fmt::format("sandbox {0} does not answer: its init, which may be starved of CPU, "
                             "did not take the request in time. Try again, or end it with "
                             "'nutshell destroy {0}'",
                             request.id));
}

Failure too_many_waiting(const std::string& id) {
  return failure(ErrorCode::Unavailable,
                 fmt::format("sandbox {0} does not answer: {1} requests already wait for its init. "
                             "Try again later, or end it with 'nutshell destroy {0}'",
                             id, kMostWaiting));
}

}  // namespace

class Launcher::StartTask : public LauncherTask {
 public:
  StartTask(Launcher& launcher, NativeSandbox sandbox, SandboxSpec spec)
      : launcher_(launcher), sandbox_(std::move(sandbox)), spec_(std::move(spec)) {}

  Result<std::optional<Awaited>> proceed(LauncherAnswer& answer) override {
    auto started = Starter::has_started(*sandbox_);
    if (!started) {
      abandon();
      return Failure(std::move(started).error());
    }
    if (!*started) return Awaited{sandbox_->report.get(), EPOLLIN};
    report_ = std::move(sandbox_->report);  // open for as long as it is watched
    answer.reply.id = TRY(launcher_.keep(std::move(*sandbox_), std::move(spec_)));
    return std::optional<Awaited>();
  }

  void abandon() override { (void)launcher_.starter_.finish(std::move(*sandbox_)); }

 private:
  Launcher& launcher_;
  std::optional<NativeSandbox> sandbox_;
  UniqueFd report_;
  SandboxSpec spec_;
};

Result<> Launcher::start(const LauncherRequest& request, std::uint64_t client) {
  SandboxSpec spec = request.spec;
  NativeSandbox sandbox = TRY(starter_.start(spec));
  Pending pending;
  pending.client = client;
  pending.request.operation = Operation::Start;
  pending.request.ends_with_client = request.ends_with_client;
  pending.task = std::make_unique<StartTask>(*this, std::move(sandbox), std::move(spec));
  pending.deadline = Deadline::in(kStartTime);
  quiet_until_ = Deadline::in(kFreshStart);
  add(++last_key_, std::move(pending));
  return {};
}

void Launcher::stop(const std::string& id, std::uint64_t client) {
  UniqueFd last = end(id);
  if (!last) return send_answer(client, {});
  Pending pending;
  pending.client = client;
  pending.request.operation = Operation::Stop;
  pending.request.id = id;
  pending.task = make_end_task(std::move(last));
  pending.deadline = Deadline::in(kEndTime);
  add(++last_key_, std::move(pending));
}

Result<> Launcher::enqueue(LauncherRequest request, std::uint64_t client) {
  KeptSandbox* kept = TRY(find(request.id));
  if (kept->operations.size() >= kMostWaiting) return too_many_waiting(request.id);
  Pending pending;
  pending.client = client;
  pending.id = request.id;
  pending.deadline =
      Deadline::in(request.operation == Operation::Restack ? kRestackTime : kOperationTime);
  pending.request = std::move(request);
  const std::uint64_t key = ++last_key_;
  kept->operations.push_back(key);
  add(key, std::move(pending));
  return {};
}

void Launcher::add(std::uint64_t key, Pending pending) {
  const auto client = clients_.find(pending.client);
  if (client != clients_.end()) client->second.operation = key;
  const Pending& added = pending_.emplace(key, std::move(pending)).first->second;
  if (added.task) return proceed(key);
  if (sandboxes_.at(added.id).operations.front() == key)
    begin(key);
  else
    mute(added.client);
}

void Launcher::begin(std::uint64_t key) {
  Pending& pending = pending_.at(key);
  auto task = make_task(pending.request, sandboxes_.at(pending.id));
  if (!task) return settle(key, Failure(std::move(task).error()), {});
  pending.task = std::move(*task);
  if (!pending.task) return settle(key, {}, {});  // nothing to do
  proceed(key);
}

Result<std::unique_ptr<LauncherTask>> Launcher::make_task(const LauncherRequest& request,
                                                          KeptSandbox& kept) const {
  const milliseconds left(static_cast<std::int64_t>(std::min(request.left_ms, kMostLeftMs)));
  switch (request.operation) {
    case Operation::Connect:
      if (!kept.is_paused) return make_connect_task(kept);
      return failure(ErrorCode::Unavailable,
                     fmt::format("sandbox {0} is paused: nutshell resume {0}", request.id));
    case Operation::Pause:
      if (kept.is_paused) return nullptr;
      return make_pause_task(kept, stopping_of(kept.sandbox));
    case Operation::Resume:
      if (!kept.is_paused) return nullptr;
      return make_resume_task(kept, stopping_of(kept.sandbox));
    case Operation::SetTimeLeft:
      if (!kept.is_paused) return make_time_task(kept, left);
      kept.left_at_resume = left;
      return nullptr;
    case Operation::Restack:
      return make_restack_task(
          TRY(starter_.begin_restack(kept.sandbox, kept.spec, request.layers)));
    default:
      return failure(ErrorCode::Corrupt, "no such operation");
  }
}

void Launcher::proceed(std::uint64_t key) {
  Pending& pending = pending_.at(key);
  if (!pending.task) return;  // it is not its turn
  LauncherAnswer answer;
  auto awaited = pending.task->proceed(answer);
  const auto kept = sandboxes_.find(pending.id);
  if (kept != sandboxes_.end()) note_end(kept->second);
  Result<> done;
  if (!awaited) {
    done = Failure(std::move(awaited).error());
  } else if (*awaited) {
    done = await(key, pending, **awaited);
    if (done) return;
    pending.task->abandon();
  }
  settle(key, std::move(done), std::move(answer));
}

Result<> Launcher::await(std::uint64_t key, Pending& pending, const Awaited& awaited) {
  mute(pending.client);
  if (pending.watched >= 0 && pending.watched != awaited.descriptor)
    (void)::epoll_ctl(events_.get(), EPOLL_CTL_DEL, pending.watched, nullptr);
  pending.watched = awaited.descriptor;
  pending.next_look = Deadline::never();
  if (awaited.descriptor >= 0) return watch(awaited.descriptor, key, awaited.events);
  pending.next_look = Deadline::in(kLookAgain);
  return {};
}

void Launcher::settle(std::uint64_t key, Result<> done, LauncherAnswer answer) {
  const auto found = pending_.find(key);
  if (found == pending_.end()) return;
  Pending pending = std::move(found->second);
  pending_.erase(found);
  if (pending.watched >= 0)
    (void)::epoll_ctl(events_.get(), EPOLL_CTL_DEL, pending.watched, nullptr);
  if (pending.task) {
    ChildProcess child = pending.task->take_child();
    child.send_signal(SIGKILL);
    if (child.is_owned()) leaving_.push_back(std::move(child));
    pending.task.reset();
  }
  if (!done) {
    answer.reply.code = done.error().code;
    answer.reply.message = done.error().message;
  }
  send_answer(pending.client, answer);
  if (pending.request.operation == Operation::Start) {
    quiet_until_ = Deadline::in(0s);
    // No other process knows of it.
    const auto client = clients_.find(pending.client);
    if (done && client == clients_.end()) (void)end(answer.reply.id);
    if (done && client != clients_.end() && pending.request.ends_with_client != 0)
      client->second.unreleased.insert(answer.reply.id);
  }
  const auto kept = sandboxes_.find(pending.id);
  if (kept == sandboxes_.end()) return;
  note_end(kept->second);
  auto& operations = kept->second.operations;
  const bool was_first = !operations.empty() && operations.front() == key;
  std::erase(operations, key);
  if (was_first && !operations.empty()) begin(operations.front());
}

// Handles what no event tells: passed deadlines, and states that have to be read.
void Launcher::look_again() {
  std::vector<std::uint64_t> late;
  std::vector<std::uint64_t> due;
  for (const auto& [key, pending] : pending_) {
    if (pending.deadline.has_passed())
      late.push_back(key);
    else if (pending.next_look.has_passed())
      due.push_back(key);
  }
  for (const std::uint64_t key : late) {
    const auto found = pending_.find(key);
    if (found == pending_.end()) continue;
    if (found->second.task) found->second.task->abandon();
    settle(key, overdue(found->second.request), {});
  }
  for (const std::uint64_t key : due) {
    if (pending_.contains(key)) proceed(key);
  }
  if (is_listening_ || !next_listening_.has_passed()) return;
  is_listening_ = watch(listener_.get(), 0, EPOLLIN).has_value();
}

}  // namespace nutshell::native
