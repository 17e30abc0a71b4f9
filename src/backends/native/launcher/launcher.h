// The launcher keeps native sandboxes that outlive the command which made them. It has one thread
// and a poll loop that waits for no sandbox and for no client. It starts when it is first needed
// and exits some time after its last sandbox; when it is killed, its sandboxes end. While it lives,
// it also starts the sandboxes of one-shot commands, which is faster than their own start.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "backends/native/files/runtime_directory.h"
#include "backends/native/launcher/kept_sandboxes.h"
#include "backends/native/launcher/launcher_protocol.h"
#include "backends/native/launcher/launcher_task.h"
#include "backends/native/start/starter.h"
#include "base/deadline.h"

namespace nutshell::native {

// Where the launcher comes from: what it can do in place of which clients.
struct LauncherOrigin {
  std::string circumstances;  // of the launcher when it started
  std::string program;        // identity of its file
};

class Launcher {
 public:
  // Listens in `directory`, whose only launcher it is for as long as it lives. The process that
  // starts it holds the LauncherLock until it listens.
  static Result<Launcher> create(RuntimeDirectory directory, InitEntry entry, saved::SaveEntry save,
                                 LauncherOrigin origin);

  Result<> run();

 private:
  Launcher(RuntimeDirectory directory, InstanceLock life, Starter starter, UniqueFd listener,
           UniqueFd events)
      : directory_(std::move(directory)),
        life_(std::move(life)),
        starter_(std::move(starter)),
        listener_(std::move(listener)),
        events_(std::move(events)) {}

  struct Client {
    UniqueFd socket;
    std::uint64_t request = 0;              // key of the request whose answer it waits for
    bool is_muted = false;                  // watched only for the end of the connection
    std::set<std::string> unreleased = {};  // sandboxes that end with the connection
  };
  // A request that is not answered yet.
  struct PendingRequest {
    std::uint64_t client = 0;            // zero once the client has hung up
    std::string id;                      // of the sandbox; empty with Start and Stop
    LauncherRequest request;             // until the task is made
    std::unique_ptr<LauncherTask> task;  // null while earlier requests of the sandbox are pending
    Deadline deadline = Deadline::never();
    Deadline next_look = Deadline::never();
    int watched = -1;  // a descriptor in events_
  };
  class StartTask;
  friend class StartTask;

  Result<> wait_once();
  void handle(std::uint64_t key);
  [[nodiscard]] Result<> watch(int fd, std::uint64_t key, std::uint32_t events) const;
  void unwatch(int fd) const;
  bool exits_now();
  [[nodiscard]] Deadline next_deadline() const;

  void accept_client();
  void serve(std::uint64_t key);
  void drop_client(std::uint64_t key);
  void mute(std::uint64_t client);
  void send_answer(std::uint64_t key, const LauncherAnswer& answer);

  // Answered without waiting for anything.
  Result<> answer_at_once(const LauncherRequest& request, LauncherReply& reply);
  Result<> release(const std::string& id, std::uint64_t client);

  // Requests that may have to wait. Those of one sandbox are done one after the other, those of
  // different sandboxes at the same time.
  Result<> start(const LauncherRequest& request, std::uint64_t client);
  [[nodiscard]] Result<> check_one_shot(const LauncherRequest& request) const;
  void stop(const std::string& id, std::uint64_t client);
  Result<> enqueue(LauncherRequest request, std::uint64_t client);
  void add_request(std::uint64_t key, PendingRequest pending);
  void begin_request(std::uint64_t key);
  Result<std::unique_ptr<LauncherTask>> make_task(const LauncherRequest& request,
                                                  KeptSandbox& kept) const;
  void proceed(std::uint64_t key);
  Result<> await(std::uint64_t key, PendingRequest& pending, const Awaited& awaited);
  void finish_request(std::uint64_t key, Result<> done, LauncherAnswer answer);
  void finish_start(const PendingRequest& pending, const std::string& id);
  void look_again();

  struct Order;
  Result<std::string> keep(NativeSandbox sandbox, Order order);
  Result<> start_saver(const std::string& id, KeptSandbox& kept) const;
  void end_saver(const std::string& id, KeptSandbox& kept, const std::string& why);
  [[nodiscard]] Stopping stopping_of(const NativeSandbox& sandbox) const;
  void remember_out_of_memory(const std::string& id);
  // Saves the changes with this reason; discards them if it is empty. Returns a descriptor that is
  // readable once no process of the sandbox is alive; closed if only its init is alive now.
  UniqueFd end_sandbox(const std::string& id, const std::string& why);
  void end_overdue();
  void end_unreleased();
  void reap();

  RuntimeDirectory directory_;
  InstanceLock life_;
  Starter starter_;
  UniqueFd listener_;
  UniqueFd events_;  // epoll: a thousand idle sandboxes do not slow a request down
  bool is_listening_ = true;
  Deadline next_listening_ = Deadline::never();
  std::uint64_t last_key_ = 0;  // clients, pending requests and sandboxes have keys of one sequence
  std::map<std::uint64_t, Client> clients_;
  std::map<std::uint64_t, PendingRequest> pending_;
  KeptSandboxes sandboxes_;
  std::set<std::string> out_of_memory_;  // ids of sandboxes that ended for lack of memory
  std::set<std::string> unreleased_;     // sandboxes whose makers hung up before they released them
  Deadline linger_ = Deadline::never();  // while it is asked why a sandbox has ended
  Deadline quiet_until_ = Deadline::in(Clock::duration::zero());  // nothing is made ahead before
  std::vector<ChildProcess> killed_children_;                     // not reaped yet
  std::vector<WorkspaceSaver> savers_;  // of sandboxes that have ended; they outlive the launcher
  saved::SaveEntry save_;
  LauncherOrigin origin_;
  std::chrono::milliseconds idle_time_{0};  // how long it stays without a sandbox
  Deadline leaves_ = Deadline::in(Clock::duration::zero());
};

}  // namespace nutshell::native
