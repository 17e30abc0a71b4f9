// The launcher: keeps native sandboxes that outlive the command which made them. One thread, a poll
// loop that waits for no sandbox and for no client; starts when first needed and leaves with its
// last sandbox. Its death is theirs.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "backends/native/files/runtime_directory.h"
#include "backends/native/launcher/kept_sandbox.h"
#include "backends/native/launcher/launcher_protocol.h"
#include "backends/native/launcher/launcher_task.h"
#include "backends/native/start/starter.h"
#include "base/deadline.h"

namespace nutshell::native {

class Launcher {
 public:
  // Listens in `directory`, of which it is the only launcher for as long as it lives; whoever
  // starts it holds the LauncherLock until it listens.
  static Result<Launcher> create(RuntimeDirectory directory, InitEntry entry);

  Result<> run();

 private:
  Launcher(RuntimeDirectory directory, LifeLock life, Starter starter, UniqueFd listener,
           UniqueFd events)
      : directory_(std::move(directory)),
        life_(std::move(life)),
        starter_(std::move(starter)),
        listener_(std::move(listener)),
        events_(std::move(events)) {}

  struct Client {
    UniqueFd socket;
    std::uint64_t operation = 0;            // the one it waits for, by key
    bool is_muted = false;                  // watched for nothing but its end
    std::set<std::string> unreleased = {};  // sandboxes that end with it
  };
  // A request that is not answered yet.
  struct Pending {
    std::uint64_t client = 0;  // zero: nobody waits any more
    std::string id;            // of the sandbox; empty with Start and Stop
    LauncherRequest request;   // until it is begun
    std::unique_ptr<LauncherTask> task;
    Deadline deadline = Deadline::never();
    Deadline next_look = Deadline::never();
    int watched = -1;  // a descriptor in events_
  };
  class StartTask;
  friend class StartTask;

  Result<> wait_once();
  void handle(std::uint64_t key);
  [[nodiscard]] Result<> watch(int fd, std::uint64_t key, std::uint32_t events) const;
  bool leaves_now();

  void accept_client();
  void serve(std::uint64_t key);
  void drop_client(std::uint64_t key);
  void mute(std::uint64_t client);
  void send_answer(std::uint64_t key, const LauncherAnswer& answer);

  Result<> answer_at_once(const LauncherRequest& request, LauncherReply& reply);
  Result<> start(const LauncherRequest& request, std::uint64_t client);
  void stop(const std::string& id, std::uint64_t client);
  Result<> enqueue(LauncherRequest request, std::uint64_t client);
  void begin(std::uint64_t key);
  Result<std::unique_ptr<LauncherTask>> make_task(const LauncherRequest& request,
                                                  KeptSandbox& kept) const;
  void add(std::uint64_t key, Pending pending);
  void proceed(std::uint64_t key);
  Result<> await(std::uint64_t key, Pending& pending, const Awaited& awaited);
  void settle(std::uint64_t key, Result<> done, LauncherAnswer answer);
  void look_again();

  Result<std::string> keep(NativeSandbox sandbox, SandboxSpec spec);
  void list(const LauncherRequest& request, LauncherReply& reply) const;
  Result<KeptSandbox*> find(const std::string& id);
  [[nodiscard]] Stopping stopping_of(const NativeSandbox& sandbox) const;
  void note_end(KeptSandbox& kept);
  void note_death(const std::string& id);
  UniqueFd end(const std::string& id);
  void end_overdue();
  void end_unreleased();
  Result<> release(const std::string& id, std::uint64_t client);
  void reap();
  [[nodiscard]] Deadline next_deadline() const;

  RuntimeDirectory directory_;
  LifeLock life_;
  Starter starter_;
  UniqueFd listener_;
  UniqueFd events_;  // epoll: a thousand idle sandboxes cost a request nothing
  bool is_listening_ = true;
  Deadline next_listening_ = Deadline::never();
  std::uint64_t last_key_ = 0;
  std::map<std::uint64_t, Client> clients_;
  std::map<std::uint64_t, Pending> pending_;
  std::map<std::string, KeptSandbox> sandboxes_;
  std::set<std::string> out_of_memory_;  // sandboxes that ended so
  std::set<std::string> unreleased_;     // sandboxes whose makers hung up before they released them
  Deadline linger_ = Deadline::never();
  Deadline quiet_until_ = Deadline::in(Clock::duration::zero());  // nothing is prepared before
  std::map<std::uint64_t, std::string> ids_;  // of sandboxes, by the key of their end
  std::vector<ChildProcess> leaving_;         // killed, and not reaped
  // When each is to be over, and its key: no request walks through all of them.
  std::set<std::pair<Clock::time_point, std::uint64_t>> ends_;
};

}  // namespace nutshell::native
