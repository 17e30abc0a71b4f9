// Calls that take long, for clients that declare they will come back for the result: the extension
// io.modelcontextprotocol/tasks of the stateless revision. Thread-safe.
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
  ~Tasks();  // cancels what runs, and waits for it

  using CallPointer = std::shared_ptr<RunningCall>;  // whoever cancels a task holds its call too
  using Work = std::function<Reply()>;
  // What the work gives within `patience`; else the task that goes on with it. Where a client has
  // as many as one may have, the work is waited for.
  Reply run(const CallPointer& call, const Work& work, std::chrono::milliseconds patience);

  // Of the client's own tasks; another's is as unknown as one that never was.
  Reply get(const Client& client, const std::string& id);
  Reply cancel(const Client& client, const std::string& id);

  static constexpr std::size_t kMostAtWork = 128;
  static constexpr std::size_t kMostOfOne = 64;
  static constexpr std::chrono::milliseconds kLife{3'600'000};  // from its beginning

 private:
  struct Task {
    std::string id;
    std::string owner;
    CallPointer call;
    std::optional<Reply> reply;  // none: it runs
    bool is_cancelled = false;
    Clock::time_point begun = Clock::now();
    std::chrono::system_clock::time_point created;
    std::chrono::system_clock::time_point updated;
  };
  // Shared by the thread that works, the one that waits, and the table.
  using TaskPointer = std::shared_ptr<Task>;

  bool begin(const TaskPointer& task, const Work& work);
  TaskPointer find(const Client& client, const std::string& id);
  void drop_old();
  static std::string describe(const Task& task);

  std::mutex mutex_;
  std::condition_variable settled_;
  std::map<std::string, TaskPointer> kept_;   // by id: those that clients know of
  std::map<std::string, std::size_t> count_;  // by owner: those that run, and those that are kept
  std::size_t at_work_ = 0;
  Workers workers_;  // last: its threads use the others
};

}  // namespace nutshell::mcp
