// Long calls of clients that poll for the result: the extension io.modelcontextprotocol/tasks of
// the stateless revision. Thread-safe.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/deadline.h"
#include "server/mcp/running_call.h"
#include "server/mcp/workers.h"

namespace nutshell::mcp {

inline constexpr const char* kTasksExtension = "io.modelcontextprotocol/tasks";

class Tasks {
 public:
  Tasks() : workers_(kMostAtWork, kMostAtWork) {}
  Tasks(const Tasks&) = delete;
  Tasks& operator=(const Tasks&) = delete;
  ~Tasks();  // cancels the calls that run, and waits for them

  using CallPointer = std::shared_ptr<RunningCall>;  // held by the task and by those who cancel it
  using Work = std::function<Reply()>;
  // Returns the reply of the work if it comes within `patience`, and else a task. A client that has
  // the most tasks waits for the work instead.
  Reply run(const CallPointer& call, const Work& work, std::chrono::milliseconds patience);

  // A task of another client is unknown.
  Reply get(const Client& client, const std::string& id);
  Reply cancel(const Client& client, const std::string& id);
  // Waits until the task has ended, or `asking` is cancelled, and returns the reply of its work.
  Reply result(const RunningCall& asking, const std::string& id);

  static constexpr std::size_t kMostAtWork = 128;
  static constexpr std::size_t kMostOfOne = 64;
  static constexpr std::chrono::milliseconds kLife{3'600'000};  // from the start of the task

 private:
  struct Task {
    std::string id;
    std::string owner;
    CallPointer call;
    std::optional<Reply> reply;  // nullopt while it runs
    bool is_cancelled = false;
    Clock::time_point begun = Clock::now();
    std::chrono::system_clock::time_point created;
    std::chrono::system_clock::time_point updated;
  };
  // Shared by the working thread, the waiting thread and the table.
  using TaskPointer = std::shared_ptr<Task>;

  bool begin(const TaskPointer& task, const Work& work);
  TaskPointer find(const Client& client, const std::string& id);
  void drop_old();
  static std::string describe(const Task& task);

  std::mutex mutex_;
  std::condition_variable settled_;
  std::map<std::string, TaskPointer> kept_;   // by id: those that clients know of
  std::map<std::string, std::size_t> count_;  // running and finished tasks by owner
  std::size_t at_work_ = 0;
  Workers workers_;  // last: its threads use the members above
};

}  // namespace nutshell::mcp
