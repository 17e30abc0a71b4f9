#include "backends/native/launcher/workspace_saver.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <optional>
#include <vector>

#include "backends/native/processes/clone_process.h"
#include "backends/native/processes/close_descriptors.h"
#include "backends/native/processes/kept_descriptors.h"
#include "backends/native/processes/side_process.h"
#include "base/fault_point.h"
#include "base/file.h"
#include "base/socket.h"
#include "saved/kept_caches.h"

namespace nutshell::native {
namespace {

using namespace std::chrono_literals;

constexpr char kSave = 's';  // followed by the reason
constexpr char kDiscard = 'd';
constexpr const char* kName = "nutshell-saver";
constexpr const char* kLauncherDied = "the launcher, which kept it, was killed";
constexpr std::size_t kMostTableBytes = 4U << 20U;
// The launcher sees the end of a sandbox when this process does, and then sends the reason.
constexpr auto kReasonTime = 5s;
constexpr auto kSavingTime = 10min;
constexpr const char* kTooLarge =
    "they have more than half of the sandbox's disk limit, or than NUTSHELL_CACHES_BYTES allows, "
    "or the disk is nearly full";

// Changes the name, so that a kill of launchers by name spares this process.
void take_name() {
  (void)::prctl(PR_SET_NAME, kName);  // cannot fail
  const std::size_t room = std::strlen(program_invocation_name);
  if (room < std::strlen(kName)) return;
  std::memset(program_invocation_name, 0, room);
  std::copy_n(kName, std::strlen(kName), program_invocation_name);
}

// Waits until the sandbox has ended; returns why, or nothing if its changes are to be discarded.
Result<std::optional<std::string>> await_end(int init, int control) {
  std::optional<std::string> why;
  bool is_listening = true;
  Deadline patience = Deadline::never();
  for (bool has_ended = false; !has_ended || (is_listening && !patience.has_passed());) {
    std::array<pollfd, 2> watched = {pollfd{has_ended ? -1 : init, POLLIN, 0},
                                     pollfd{is_listening ? control : -1, POLLIN, 0}};
    const int ready = ::poll(watched.data(), watched.size(), patience.poll_timeout());
    if (ready < 0 && errno != EINTR) return syscall_failure("poll");
    if (ready <= 0) continue;
    if (watched[0].revents != 0) {
      has_ended = true;
      patience = Deadline::in(kReasonTime);
    }
    if (watched[1].revents == 0) continue;
    is_listening = false;
    const auto packet = receive_packet(control, Deadline::in(0s));
    const bool is_told = packet && !packet->bytes.empty();
    if (is_told && packet->bytes[0] == kDiscard) return std::optional<std::string>();
    why = is_told ? packet->bytes.substr(1) : kLauncherDied;
  }
  return std::optional(why.value_or("its first process was killed"));
}

struct Layers {
  int store = -1;
  int base = -1;
  int mount_namespace = -1;
  bool is_copied = false;
};

// Afterwards no link in the layers can lead this process out of them.
Result<saved::LayersToSave> enter_layers(const Layers& layers, saved::Saved what) {
  saved::LayersToSave wanted{layers.store, layers.base, layers.is_copied, {}, what};
  const UniqueFd processes = TRY(open_file("/proc", O_PATH | O_DIRECTORY));
  if (!layers.is_copied) {
    if (::setns(layers.mount_namespace, CLONE_NEWNS) != 0) return syscall_failure("setns", "mount");
    wanted.mount_table = TRY(read_file_at(processes.get(), "self/mountinfo", kMostTableBytes));
  }
  if (::fchdir(layers.store) != 0 || ::chroot(".") != 0) return syscall_failure("enter the layers");
  return wanted;
}

struct Filling {
  saved::Saved what = saved::Saved::Workspace;
  int file = -1;
  saved::ArchiveBounds bounds;
  std::string why;
};

// Runs in a child of the saving process, because it leaves the root directory for good, and because
// it reads hostile data. The file stays empty if there is nothing to save.
Result<> fill(const Layers& layers, const saved::SaveEntry& save, const Filling& filling) {
  const auto wanted = TRY(enter_layers(layers, filling.what));
  saved::ArchiveWriter archive(filling.file, filling.bounds);
  TRY(save(wanted, archive));
  return archive.changes() == 0 ? Result<>() : archive.finish(filling.why);
}

struct Saver {
  Layers layers;
  const saved::SaveEntry& save;
  const SavingOrder& order;
  std::uint64_t disk_bytes = 0;  // the sandbox's limit
  int init = -1;
  int control = -1;

  // Returns whether anything was written.
  Result<bool> fill_in_child(const Filling& filling) const {
    SideProcess child =
        TRY(SideProcess::start({layers.store, layers.base, layers.mount_namespace, filling.file},
                               [&] { return fill(layers, save, filling); }));
    TRY(child.take_answer(Deadline::in(kSavingTime)));
    return ::lseek(filling.file, 0, SEEK_END) != 0;
  }

  // Returns whether there is anything saved.
  Result<bool> save_changes(saved::Saving& saving, const std::string& why) const {
    const UniqueFd file = TRY(saving.new_archive(order.bounds));
    const bool has_changes = TRY(fill_in_child(
        {saved::Saved::Workspace, file.get(), {order.bounds.bytes, disk_bytes}, why}));
    if (!has_changes) return false;
    fault_point("saver.filled");
    TRY(saving.commit(order.bounds));
    return true;
  }

  // Half of the disk limit stays free in the next sandbox.
  void save_caches(saved::CacheSaving& saving, const std::string& why) const {
    const auto filled = fill_in_child(
        {saved::Saved::Caches, saving.file(), {order.caches_bounds.bytes, disk_bytes / 2}, why});
    if (filled && !*filled) return saving.drop();
    const auto done =
        filled ? saving.commit(order.caches_bounds) : Result<>(Failure(filled.error()));
    if (done) return;
    saving.fail(done.error().code == ErrorCode::ResourceExhausted ? kTooLarge
                                                                  : done.error().message);
  }
};

// Files that the saver holds open; either may be absent.
struct Savings {
  std::optional<saved::Saving> changes;
  std::optional<saved::CacheSaving> caches;

  void drop() {
    if (changes) changes->drop();
    if (caches) caches->drop();
  }
  void fail(const std::string& why) {
    if (changes) changes->fail(why);
    if (caches) caches->fail(why);
  }
};

void save_all(const Saver& saver, Savings& savings) {
  const auto why = await_end(saver.init, saver.control);
  fault_point("saver.ended");
  if (!why) return savings.fail(why.error().message);
  if (!*why) return savings.drop();
  if (savings.changes) {
    const auto done = saver.save_changes(*savings.changes, **why);
    if (!done) {
      savings.changes->fail(done.error().message);
    } else if (!*done) {
      savings.changes->drop();
    }
  }
  if (savings.caches) saver.save_caches(*savings.caches, **why);
}

[[noreturn]] void become_saver(const Saver& saver, Savings& savings) {
  ::setsid();  // a signal to the launcher's group is not for this process
  take_name();
  std::signal(SIGCHLD, SIG_DFL);  // NOLINT(concurrency-mt-unsafe): one thread
  std::vector<int> kept = {saver.layers.store, saver.layers.base, saver.layers.mount_namespace,
                           saver.init, saver.control};
  if (savings.changes) kept.push_back(savings.changes->lock());
  if (savings.caches) kept.push_back(savings.caches->file());
  const auto closed = close_all_but(kept);
  if (closed) {
    save_all(saver, savings);
  } else {
    savings.fail(closed.error().message);
  }
  ::_exit(0);
}

}  // namespace

Result<WorkspaceSaver> WorkspaceSaver::start(const SavingPlan& plan) {
  auto [ours, theirs] = TRY(make_socket_pair(SocketKind::Packets));
  TRY(renumber(ours, kFirstKept));
  const NativeSandbox& sandbox = plan.sandbox;
  const Saver saver{{sandbox.store.get(), sandbox.directories.base.get(),
                     sandbox.mount_namespace.get(), !sandbox.why_copied.empty()},
                    plan.save,
                    plan.order,
                    plan.status.spec.limits.disk_bytes,
                    sandbox.init.descriptor(),
                    theirs.get()};
  // Taken here, so that at no moment the changes look lost. The child has copies of the locks.
  Savings savings;
  if (!plan.order.place.empty())
    savings.changes.emplace(TRY(saved::Saving::begin(plan.order.place, plan.status)));
  if (!plan.order.caches.empty())
    savings.caches.emplace(TRY(saved::CacheSaving::begin(plan.order.caches, plan.status.id)));
  ChildProcess child = TRY(clone_process(0, -1));
  if (child.pid() == 0) become_saver(saver, savings);
  WorkspaceSaver started;
  started.child_ = std::move(child);
  started.control_ = std::move(ours);
  return started;
}

bool WorkspaceSaver::has_ended() {
  if (!is_started()) return false;
  const auto status = child_.wait(Deadline::in(0s));
  return !status || status->has_value();
}

void WorkspaceSaver::save(const std::string& why) const {
  if (control_) (void)try_send_packet(control_.get(), kSave + why);  // fails if it was killed
}

void WorkspaceSaver::discard() const {
  if (control_) (void)try_send_packet(control_.get(), std::string(1, kDiscard));
}

}  // namespace nutshell::native
