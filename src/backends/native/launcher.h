// The launcher: keeps native sandboxes that outlive the command which made them. One thread, a poll
// loop; starts when first needed and leaves with its last sandbox. Its death is theirs.
#pragma once

#include <map>
#include <set>
#include <string>

#include "backends/native/hidden_environment.h"
#include "backends/native/launcher_protocol.h"
#include "backends/native/runtime_directory.h"
#include "backends/native/starter.h"
#include "base/deadline.h"

namespace nutshell::native {

class Launcher {
 public:
  // Listens in `directory`; whoever starts it holds the lock until it does.
  static Result<Launcher> create(RuntimeDirectory directory, InitEntry entry);

  Result<> run();

 private:
  Launcher(RuntimeDirectory directory, Starter starter, UniqueFd listener, UniqueFd events)
      : directory_(std::move(directory)),
        starter_(std::move(starter)),
        listener_(std::move(listener)),
        events_(std::move(events)) {}

  struct Kept {
    std::uint64_t key = 0;
    SandboxSpec spec;  // without its environment
    HiddenEnvironment environment;
    NativeSandbox sandbox;
    Clock::time_point started;
    Clock::time_point ttl_end;  // which init keeps
    Clock::time_point end;      // ours, a little later
    bool is_paused = false;
    std::chrono::milliseconds left_at_resume{0};  // of the ttl, while it is paused
  };

  Result<> wait_once();
  void handle(std::uint64_t key);
  Result<> watch(int fd, std::uint64_t key) const;
  bool leaves_now();
  void accept_client();
  void serve(std::uint64_t key);
  LauncherReply answer(const LauncherRequest& request, std::vector<UniqueFd>& descriptors);
  Result<> act(const LauncherRequest& request, LauncherReply& reply,
               std::vector<UniqueFd>& descriptors);
  Result<> start(const LauncherRequest& request, LauncherReply& reply);
  Result<> pause(Kept& kept);
  [[nodiscard]] bool has_freezer(const NativeSandbox& sandbox) const;
  Result<> freeze(Kept& kept);
  Result<> resume(Kept& kept);
  Result<> move_end(Kept& kept, std::uint64_t left_ms);
  Result<> set_time_left(Kept& kept, std::chrono::milliseconds left);
  static std::chrono::milliseconds time_left(const Kept& kept);
  void list(const LauncherRequest& request, LauncherReply& reply) const;
  Result<Kept*> find(const std::string& id);
  void note_death(const std::string& id);
  void end(const std::string& id);
  void end_overdue();
  [[nodiscard]] Deadline next_deadline() const;

  RuntimeDirectory directory_;
  Starter starter_;
  UniqueFd listener_;
  UniqueFd events_;  // epoll: a thousand idle sandboxes cost a request nothing
  std::uint64_t last_key_ = 0;
  std::map<std::uint64_t, UniqueFd> clients_;
  std::map<std::string, Kept> sandboxes_;
  std::set<std::string> out_of_memory_;  // sandboxes that ended so
  Deadline linger_ = Deadline::never();
  std::map<std::uint64_t, std::string> ids_;  // of sandboxes, by the key of their end
  // When each is to be over, and its key: no request walks through all of them.
  std::set<std::pair<Clock::time_point, std::uint64_t>> ends_;
};

}  // namespace nutshell::native
