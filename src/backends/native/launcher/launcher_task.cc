#include "backends/native/launcher/launcher_task.h"

#include <fcntl.h>
#include <poll.h>

#include "base/file.h"
#include "base/socket.h"
#include "wire/channel.h"
#include "wire/init_client.h"

namespace nutshell::native {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

using Progress = Result<std::optional<Awaited>>;

constexpr auto kLongestPause = 24h;

Awaited until_writable(const KeptSandbox& kept) {
  return {kept.sandbox.control.get(), EPOLLOUT};
}

// Makes a connection to init by sending one end of a socket pair over its control socket.
class Connection {
 public:
  // False if init does not read its messages.
  Result<bool> offer(NativeSandbox& sandbox) {
    if (sandbox.stream) {
      ours_ = std::move(sandbox.stream);
      return true;
    }
    if (!theirs_) std::tie(ours_, theirs_) = TRY(make_socket_pair(SocketKind::Stream));
    return try_send_packet(sandbox.control.get(), "c", {theirs_.get()});
  }
  UniqueFd take() { return std::move(ours_); }

 private:
  UniqueFd ours_;
  UniqueFd theirs_;
};

class ConnectTask : public LauncherTask {
 public:
  explicit ConnectTask(KeptSandbox& kept) : kept_(kept) {}

  Progress proceed(LauncherAnswer& answer) override {
    if (!TRY(connection_.offer(kept_.sandbox))) return until_writable(kept_);
    answer.descriptors.push_back(connection_.take());
    return std::optional<Awaited>();
  }

 private:
  KeptSandbox& kept_;
  Connection connection_;
};

// Tells init first: an init that does not read this message ends at the old time.
class TimeTask : public LauncherTask {
 public:
  TimeTask(KeptSandbox& kept, milliseconds left) : kept_(kept), left_(left) {}

  Progress proceed(LauncherAnswer& /*answer*/) override {
    if (!TRY(kept_.tell_time_left(left_))) return until_writable(kept_);
    return std::optional<Awaited>();
  }

 private:
  KeptSandbox& kept_;
  milliseconds left_;
};

class RestackTask : public LauncherTask {
 public:
  explicit RestackTask(SideProcess process) : process_(std::move(process)) {}

  Progress proceed(LauncherAnswer& /*answer*/) override {
    if (!TRY(wait_for(process_.descriptor(), POLLIN, Deadline::in(0s))))
      return Awaited{process_.descriptor(), EPOLLIN};
    auto done = process_.take_answer(Deadline::in(0s));
    if (!done) return while_doing("stack the layers", std::move(done).error());
    return std::optional<Awaited>();
  }
  ChildProcess take_child() override { return process_.take_child(); }

 private:
  SideProcess process_;
};

// Asks init to stop or continue all processes of its sandbox. A child process waits for the answer,
// because init may not answer.
class InitRequest {
 public:
  using Call = Result<> (wire::InitClient::*)();
  explicit InitRequest(Call call) : call_(call) {}

  Progress proceed(KeptSandbox& kept) {
    if (!process_) {
      if (!TRY(connection_.offer(kept.sandbox))) return until_writable(kept);
      const UniqueFd stream = connection_.take();
      process_.emplace(TRY(SideProcess::start({stream.get()}, [&] {
        wire::InitClient client(UniqueFd(::fcntl(stream.get(), F_DUPFD_CLOEXEC, 0)));
        return (client.*call_)();
      })));
    }
    if (!TRY(wait_for(process_->descriptor(), POLLIN, Deadline::in(0s))))
      return Awaited{process_->descriptor(), EPOLLIN};
    TRY(process_->take_answer(Deadline::in(0s)));
    return std::optional<Awaited>();
  }
  [[nodiscard]] bool was_sent() const { return process_.has_value(); }
  ChildProcess take_child() { return process_ ? process_->take_child() : ChildProcess(); }

 private:
  Call call_;
  Connection connection_;
  std::optional<SideProcess> process_;
};

// While the sandbox is paused its ttl does not run. Init gets kLongestPause in its place, so that a
// sandbox that is never resumed ends.
class PauseTask : public LauncherTask {
 public:
  PauseTask(KeptSandbox& kept, Stopping stopping)
      : kept_(kept), stopping_(stopping), left_(kept.time_left()) {}

  Progress proceed(LauncherAnswer& /*answer*/) override {
    auto progress = stop();
    if (!progress) abandon();
    return progress;
  }

  void abandon() override {
    if (!is_told_) return;
    if (stopping_ == Stopping::ByFreezer) (void)kept_.sandbox.cgroup->begin_thaw();
    // Init may read the request to stop much later, so a request to continue follows it.
    Connection connection;
    if (request_.was_sent() && connection.offer(kept_.sandbox).value_or(false)) {
      wire::Channel channel(connection.take());
      channel.queue(channel.new_conversation(), wire::Continue{});
      (void)channel.send_some();  // it fits into the empty buffer of a new connection
    }
    // If init does not read this either, the launcher ends the sandbox in time.
    if (!kept_.tell_time_left(left_).value_or(false)) kept_.move_end(left_);
  }
  ChildProcess take_child() override { return request_.take_child(); }

 private:
  Progress stop() {
    if (!is_told_) {
      if (!TRY(kept_.tell_time_left(milliseconds(kLongestPause)))) return until_writable(kept_);
      is_told_ = true;
      if (stopping_ == Stopping::ByFreezer) TRY(kept_.sandbox.cgroup->begin_freeze());
    }
    if (stopping_ == Stopping::ByFreezer) {
      if (!TRY(kept_.sandbox.cgroup->is_frozen())) return Awaited{};
    } else if (auto awaited = TRY(request_.proceed(kept_))) {
      return awaited;
    }
    kept_.is_paused = true;
    kept_.left_at_resume = left_;
    return std::optional<Awaited>();
  }

  KeptSandbox& kept_;
  Stopping stopping_;
  milliseconds left_;
  bool is_told_ = false;
  InitRequest request_{&wire::InitClient::suspend};
};

class ResumeTask : public LauncherTask {
 public:
  ResumeTask(KeptSandbox& kept, Stopping stopping) : kept_(kept), stopping_(stopping) {}

  Progress proceed(LauncherAnswer& /*answer*/) override {
    if (stopping_ == Stopping::ByFreezer) {
      if (!is_asked_) TRY(kept_.sandbox.cgroup->begin_thaw());
      is_asked_ = true;
      if (TRY(kept_.sandbox.cgroup->is_frozen())) return Awaited{};
    } else if (auto awaited = TRY(request_.proceed(kept_))) {
      return awaited;
    }
    kept_.is_paused = false;
    // Init still has kLongestPause; if it does not read this, the launcher ends the sandbox in
    // time.
    if (!TRY(kept_.tell_time_left(kept_.left_at_resume))) kept_.move_end(kept_.left_at_resume);
    return std::optional<Awaited>();
  }
  ChildProcess take_child() override { return request_.take_child(); }

 private:
  KeptSandbox& kept_;
  Stopping stopping_;
  bool is_asked_ = false;
  InitRequest request_{&wire::InitClient::resume};
};

class EndTask : public LauncherTask {
 public:
  explicit EndTask(UniqueFd end) : end_(std::move(end)) {}

  Progress proceed(LauncherAnswer& /*answer*/) override {
    if (!TRY(wait_for(end_.get(), POLLIN, Deadline::in(0s)))) return Awaited{end_.get(), EPOLLIN};
    return std::optional<Awaited>();
  }

 private:
  UniqueFd end_;
};

}  // namespace

std::unique_ptr<LauncherTask> make_connect_task(KeptSandbox& kept) {
  return std::make_unique<ConnectTask>(kept);
}

std::unique_ptr<LauncherTask> make_time_task(KeptSandbox& kept, milliseconds left) {
  return std::make_unique<TimeTask>(kept, left);
}

std::unique_ptr<LauncherTask> make_restack_task(SideProcess process) {
  return std::make_unique<RestackTask>(std::move(process));
}

std::unique_ptr<LauncherTask> make_pause_task(KeptSandbox& kept, Stopping stopping) {
  return std::make_unique<PauseTask>(kept, stopping);
}

std::unique_ptr<LauncherTask> make_resume_task(KeptSandbox& kept, Stopping stopping) {
  return std::make_unique<ResumeTask>(kept, stopping);
}

std::unique_ptr<LauncherTask> make_end_task(UniqueFd end) {
  return std::make_unique<EndTask>(std::move(end));
}

}  // namespace nutshell::native
