#include "init/container.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <memory>

#include "base/copy_tree.h"
#include "base/file.h"
#include "base/seccomp_filter.h"
#include "base/socket.h"
#include "init/bridge.h"
#include "init/sandbox_filter.h"
#include "wire/orders.h"
#include "wire/start_report.h"
#include "wire/tree_stream.h"

namespace nutshell::init {
namespace {

using namespace std::chrono_literals;

constexpr auto kOrderTime = 60s;
constexpr auto kReleaseTime = 120s;
constexpr const char* kWorkspace = "/workspace";
constexpr const char* kPristine = "pristine";
constexpr const char* kFirstLayer = "workspace";  // its name in the store

Result<std::string> read_exactly(std::size_t size, const Deadline& deadline) {
  std::string bytes(size, '\0');
  std::size_t have = 0;
  while (have < size) {
    if (!TRY(wait_for(STDIN_FILENO, POLLIN, deadline)))
      return failure(ErrorCode::DeadlineExceeded,
                     "the orders for this sandbox did not come in time");
    const ssize_t count = ::read(STDIN_FILENO, bytes.data() + have, size - have);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count <= 0)
      return failure(ErrorCode::Unavailable, "the process that gives the orders is gone");
    have += static_cast<std::size_t>(count);
  }
  return bytes;
}

Result<wire::ContainerOrders> read_orders() {
  const Deadline deadline = Deadline::in(kOrderTime);
  const std::string head = TRY(read_exactly(sizeof(std::uint32_t), deadline));
  std::uint32_t size = 0;
  std::copy(head.begin(), head.end(), reinterpret_cast<char*>(&size));
  if (size > wire::kMostOrderBytes) return failure(ErrorCode::Corrupt, "orders without an end");
  return wire::decode<wire::ContainerOrders>(TRY(read_exactly(size, deadline)));
}

struct Carried {
  UniqueFd socket;
  UniqueFd owner;  // the sandbox ends with it; closed: the sandbox lives on
};

void* carry(void* argument) {
  const std::unique_ptr<Carried> carried(static_cast<Carried*>(argument));
  // When the thread ends, for any reason, the connection ends, and init sees it.
  (void)bridge(STDIN_FILENO, STDOUT_FILENO, carried->socket.get());
  return nullptr;
}

Result<> start_carrying(std::unique_ptr<Carried> carried) {
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);  // NOLINT(concurrency-mt-unsafe): one thread yet
  ::signal(SIGPIPE, SIG_IGN);                 // NOLINT(concurrency-mt-unsafe): one thread yet
  pthread_t thread{};
  const int error = ::pthread_create(&thread, nullptr, carry, carried.get());
  if (error != 0) return syscall_failure(error, "start a thread");
  (void)carried.release();  // the thread owns it now
  ::pthread_detach(thread);
  return {};
}

// Opens the count of cgroup v2 or v1. Without either, running out of memory cannot be told from a
// signal.
UniqueFd open_memory_events() {
  for (const char* path :
       {"/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"}) {
    if (auto opened = open_file(path, O_RDONLY)) return std::move(*opened);
  }
  return UniqueFd();
}

Result<UniqueFd> open_directory(int directory, const char* name) {
  return open_at(directory, name, O_RDONLY | O_DIRECTORY);
}

// Makes two copies of what the host sends: one is the workspace, the other stays unchanged, to
// compare with.
Result<UniqueFd> receive_base(int store) {
  const UniqueFd workspace = TRY(open_file(kWorkspace, O_RDONLY | O_DIRECTORY));
  if (::mkdirat(store, kPristine, 0700) != 0) return syscall_failure("mkdir", kPristine);
  UniqueFd pristine = TRY(open_directory(store, kPristine));
  TRY(wire::receive_tree(STDIN_FILENO, workspace.get(), Deadline::in(wire::kCopyTime)));
  TRY(copy_tree(workspace.get(), pristine.get(), Unreadable::LeftOut));
  return pristine;
}

// Reads on after a failure until the host hangs up. The end of this process would close the stream,
// and the host may still be sending: it would see the closed stream before the reason.
void await_hangup() {
  const Deadline deadline = Deadline::in(10s);
  std::array<char, 65536> space{};
  for (;;) {
    const auto ready = wait_for(STDIN_FILENO, POLLIN, deadline);
    if (!ready || !*ready || ::read(STDIN_FILENO, space.data(), space.size()) <= 0) return;
  }
}

// Whether files there take memory: on a tmpfs they do, in a volume they do not.
std::vector<std::string> find_scratch(const std::string& store) {
  std::vector<std::string> found;
  for (const std::string path : {kWorkspace, "/tmp", "/dev/shm", store.c_str()}) {
    struct statfs system {};
    if (!path.empty() && ::statfs(path.c_str(), &system) == 0 && system.f_type == TMPFS_MAGIC)
      found.push_back(path);
  }
  return found;
}

// Sets the modes, because an image may have these directories, and some engines keep its modes.
void open_scratch() {
  constexpr mode_t kAnybody = 01777;
  ::chmod(kWorkspace, 0755);
  ::chmod("/tmp", kAnybody);
}

// Engines need more open files to make a container than its commands may have.
Result<> limit_open_files(std::uint64_t count) {
  const rlimit limit{count, count};
  if (count != 0 && ::setrlimit(RLIMIT_NOFILE, &limit) != 0)
    return syscall_failure("limit", "open files");
  return {};
}

Result<> use_store(const wire::ContainerOrders& orders, InitSetup& setup) {
  if (orders.store.empty()) return {};
  setup.store = TRY(open_file(orders.store, O_RDONLY | O_DIRECTORY));
  if (::symlinkat(kWorkspace, setup.store.get(), kFirstLayer) != 0)
    return syscall_failure("link", kFirstLayer);
  setup.is_copied = true;
  if (orders.base_follows == 0) return {};
  auto copied = receive_base(setup.store.get());
  // An error means that the maker is gone; the orders will then not come.
  TRY(wire::report_copy(STDOUT_FILENO, copied ? Result<>() : Failure(copied.error())));
  if (!copied) await_hangup();
  setup.base = TRY(std::move(copied));
  return {};
}

}  // namespace

Result<InitSetup> take_container_orders() {
  const wire::ContainerOrders orders = TRY(read_orders());
  InitSetup setup;
  setup.ttl = std::chrono::milliseconds(static_cast<std::int64_t>(orders.ttl_ms));
  setup.idle_timeout = std::chrono::milliseconds(static_cast<std::int64_t>(orders.idle_ms));
  setup.environment = orders.environment;
  setup.working_directory = orders.working_directory;
  setup.watched_memory_bytes = orders.watched_memory_bytes;
  setup.watched_millicpus = orders.watched_millicpus;
  setup.has_own_kernel = orders.has_own_kernel != 0;
  setup.oom_events = open_memory_events();
  open_scratch();
  TRY(use_store(orders, setup));
  setup.scratch = find_scratch(orders.store);
  auto carried = std::make_unique<Carried>();
  auto [ours, theirs] = TRY(make_socket_pair(SocketKind::Stream));
  setup.connection = std::move(ours);
  carried->socket = std::move(theirs);
  if (orders.ends_with_connection != 0) {
    auto [control, owner] = TRY(make_socket_pair(SocketKind::Packets));
    setup.control = std::move(control);
    setup.is_ended_by_first_connection = true;
    carried->owner = std::move(owner);
  }
  TRY(limit_open_files(orders.open_files));
  if (orders.awaits_release != 0)
    TRY(wire::await_release(STDIN_FILENO, STDOUT_FILENO, Deadline::in(kReleaseTime)));
  // Added to the engine's own filter, which is wider, while there is one thread and no command.
  TRY(install_seccomp_filter(sandbox_filter(orders.has_network != 0 ? SocketsOfCommands::MayBeTaken
                                                                    : SocketsOfCommands::Stay)));
  TRY(start_carrying(std::move(carried)));
  return setup;
}

}  // namespace nutshell::init
