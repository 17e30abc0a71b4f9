#include "server/mcp/tasks.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "base/random_id.h"
#include "server/mcp/json_text.h"

namespace nutshell::mcp {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kIdDigits = 32;
constexpr auto kPollInterval = 1000ms;
constexpr auto kLook = 50ms;  // between looks at whether a waiting request was cancelled

std::string moment(std::chrono::system_clock::time_point when) {
  const auto since = std::chrono::duration_cast<std::chrono::milliseconds>(when.time_since_epoch());
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(since.count() / 1000),
                     since.count() % 1000);
}

Problem no_such_task() {
  return {kInvalidParams, "there is no such task, or its time is over"};
}

}  // namespace

Tasks::~Tasks() {
  const std::lock_guard lock(mutex_);
  for (const auto& [id, task] : kept_)
    if (!task->reply) task->call->cancel();
}

// False if the caller has to do the work itself.
bool Tasks::begin(const TaskPointer& task, const Work& work) {
  {
    const std::lock_guard lock(mutex_);
    drop_old();
    std::size_t& own = count_[task->owner];
    if (own >= kMostOfOne || at_work_ >= kMostAtWork) return false;
    ++own;
    ++at_work_;
  }
  return workers_.take([this, task, work] {
    Reply reply = work();
    const std::lock_guard lock(mutex_);
    task->reply = std::move(reply);
    task->updated = std::chrono::system_clock::now();
    --at_work_;
    settled_.notify_all();
  });
}

Reply Tasks::run(const CallPointer& call, const Work& work, std::chrono::milliseconds patience) {
  const auto task = std::make_shared<Task>();
  task->owner = call->client().owner;
  task->call = call;
  task->created = task->updated = std::chrono::system_clock::now();
  if (!begin(task, work)) return work();
  std::unique_lock lock(mutex_);
  const auto is_settled = [&task] { return task->reply.has_value(); };
  settled_.wait_for(lock, patience, is_settled);
  if (!task->reply && call->is_cancelled()) settled_.wait(lock, is_settled);
  if (task->reply) {
    if (--count_[task->owner] == 0) count_.erase(task->owner);
    return *task->reply;
  }
  // Added to the table before the client gets the id.
  task->id = random_id(kIdDigits);
  kept_.emplace(task->id, task);
  call->become_task();
  return Answer{describe(*task), Answer::Type::Task};
}

// Cancels tasks whose time is over, and drops those that have ended.
void Tasks::drop_old() {
  for (auto entry = kept_.begin(); entry != kept_.end();) {
    const TaskPointer task = entry->second;
    if (Clock::now() - task->begun < kLife) {
      ++entry;
      continue;
    }
    if (!task->reply) {
      task->call->cancel();
      ++entry;
      continue;
    }
    if (--count_[task->owner] == 0) count_.erase(task->owner);
    entry = kept_.erase(entry);
  }
}

Tasks::TaskPointer Tasks::find(const Client& client, const std::string& id) {
  drop_old();
  const auto found = kept_.find(id);
  return found != kept_.end() && found->second->owner == client.owner ? found->second : nullptr;
}

std::string Tasks::describe(const Task& task) {
  std::string status = "working";
  std::string more;
  if (task.is_cancelled) {
    status = "cancelled";
  } else if (task.reply && std::holds_alternative<Answer>(*task.reply)) {
    status = "completed";
    more = fmt::format(",\"result\":{}", with_fields(std::get<Answer>(*task.reply).object,
                                                     R"("resultType":"complete")"));
  } else if (task.reply) {
    const auto& problem = std::get<Problem>(*task.reply);
    status = "failed";
    more = fmt::format(R"(,"error":{{"code":{},"message":{}}})", problem.code,
                       json_string(problem.message));
  }
  return fmt::format(
      R"({{"taskId":"{}","status":"{}","createdAt":"{}","lastUpdatedAt":"{}","ttlMs":{},)"
      R"("pollIntervalMs":{}{}}})",
      task.id, status, moment(task.created), moment(task.updated), kLife.count(),
      std::chrono::milliseconds(kPollInterval).count(), more);
}

Reply Tasks::get(const Client& client, const std::string& id) {
  const std::lock_guard lock(mutex_);
  const TaskPointer task = find(client, id);
  if (!task) return no_such_task();
  return Answer{describe(*task)};
}

Reply Tasks::cancel(const Client& client, const std::string& id) {
  const std::lock_guard lock(mutex_);
  const TaskPointer task = find(client, id);
  if (!task) return no_such_task();
  if (!task->reply && !task->is_cancelled) {
    task->is_cancelled = true;
    task->updated = std::chrono::system_clock::now();
    task->call->cancel();
  }
  return Answer{"{}"};
}

Reply Tasks::result(const RunningCall& asking, const std::string& id) {
  std::unique_lock lock(mutex_);
  const TaskPointer task = find(asking.client(), id);
  if (!task) return no_such_task();
  const auto is_settled = [&task] { return task->reply.has_value(); };
  while (!settled_.wait_for(lock, kLook, is_settled))
    if (asking.is_cancelled()) return Problem{kInvalidRequest, "the request was cancelled"};
  return *task->reply;
}

}  // namespace nutshell::mcp
