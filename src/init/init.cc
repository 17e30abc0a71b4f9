#include "init/init.h"

#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "base/byte_size.h"
#include "base/file.h"
#include "base/socket.h"
#include "init/file_conversations.h"
#include "init/payload_filter.h"
#include "wire/orders.h"

namespace nutshell::init {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMostConnections = 64;
constexpr std::size_t kMostExecs = 1024;
constexpr std::size_t kMostFinishedExecs = 64;  // kept for a host that comes back

std::uint64_t parse_oom_kills(std::string_view text) {
  constexpr std::string_view kKey = "oom_kill ";
  const std::size_t at = text.find(kKey);
  if (at == std::string_view::npos) return 0;
  return std::strtoull(text.data() + at + kKey.size(), nullptr, 10);
}

bool is_without_cgroup(const InitSetup& setup) {
  return setup.is_pinned || setup.watched_memory_bytes > 0;
}

unsigned count_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return static_cast<unsigned>(std::max(1, CPU_COUNT(&set)));
}

// Blocked and read from a descriptor; everything else that could disturb init is ignored, and as
// PID 1 it gets no signal from inside that it has no handler for.
UniqueFd block_signals() {
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);  // NOLINT(concurrency-mt-unsafe): one thread
  // NOLINTNEXTLINE(concurrency-mt-unsafe): init has one thread
  ::signal(SIGPIPE, SIG_IGN);
  sigset_t children;
  ::sigemptyset(&children);
  ::sigaddset(&children, SIGCHLD);
  return UniqueFd(::signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK));
}

}  // namespace

struct Init::Polled {
  enum class What { Children, Control, Listener, Connection, Exec };
  struct Entry {
    What what;
    Connection* connection = nullptr;
    Exec* exec = nullptr;
  };
  std::vector<pollfd> descriptors;
  std::vector<Entry> entries;

  void add(int fd, int events, Entry entry) {
    if (fd < 0) return;
    descriptors.push_back({fd, static_cast<short>(events), 0});
    entries.push_back(entry);
  }
};

Init::Init(InitSetup setup)
    : setup_(std::move(setup)),
      memory_(setup_.watched_memory_bytes, setup_.scratch),
      surroundings_{
          marks_,
          setup_.environment,
          setup_.working_directory,
          payload_filter(is_without_cgroup(setup_) ? CpuPinning::Pinned : CpuPinning::Free),
          count_cores(),
          setup_.memory_priority.get()},
      children_(block_signals()),
      ttl_(Deadline::in(setup_.ttl)) {
  ::umask(022);
  (void)new_oom_kills();  // a recycled group has a history: only what comes now counts
  if (setup_.connection) connections_.emplace_back(std::move(setup_.connection));
  if (setup_.idle_timeout > 0ms) idle_ = Deadline::in(setup_.idle_timeout);
}

int Init::run() {
  if (!children_) return kCouldNotStart;
  while (exit_status_ < 0) {
    poll_once();
    reap_children();
    check_execs();
    finish_execs();
    write_to_all();
    drop_finished_execs();
  }
  connections_.clear();  // conversations refer to execs
  return exit_status_;
}

void Init::poll_once() {
  Polled polled;
  polled.add(children_.get(), POLLIN, {Polled::What::Children});
  polled.add(setup_.control.get(), POLLIN, {Polled::What::Control});
  polled.add(setup_.listener.get(), POLLIN, {Polled::What::Listener});
  for (Connection& connection : connections_) {
    polled.add(connection.descriptor(), connection.wanted_events(),
               {Polled::What::Connection, &connection});
  }
  for (auto& [id, slot] : execs_) {
    const Polled::Entry entry{Polled::What::Exec, nullptr, slot.exec.get()};
    polled.add(slot.exec->output_descriptor(), POLLIN, entry);
    polled.add(slot.exec->error_descriptor(), POLLIN, entry);
    polled.add(slot.exec->input_descriptor(), POLLOUT, entry);
  }
  const int ready =
      ::poll(polled.descriptors.data(), polled.descriptors.size(), next_deadline().poll_timeout());
  if (ready > 0) serve(polled);
}

void Init::serve(const Polled& polled) {
  for (std::size_t i = 0; i < polled.entries.size(); ++i) {
    const short events = polled.descriptors[i].revents;
    if (events == 0) continue;
    const Polled::Entry& entry = polled.entries[i];
    switch (entry.what) {
      case Polled::What::Children: {
        signalfd_siginfo information{};
        // Only to make it unreadable again: who has ended is asked right after.
        while (::read(children_.get(), &information, sizeof information) > 0) {
        }
        break;
      }
      case Polled::What::Control:
        take_new_connection();
        break;
      case Polled::What::Listener:
        accept_connection();
        break;
      case Polled::What::Connection:
        if ((events & (POLLIN | POLLHUP | POLLERR)) != 0) {
          entry.connection->read_available(
              [this](const wire::Frame& frame) { return open_conversation(frame); });
        }
        if (setup_.idle_timeout > 0ms) idle_ = Deadline::in(setup_.idle_timeout);
        break;
      case Polled::What::Exec:
        entry.exec->read_output();
        entry.exec->write_input();
        break;
    }
  }
}

bool Init::is_busy() const {
  return std::any_of(execs_.begin(), execs_.end(),
                     [](const auto& item) { return !item.second.exec->has_ended(); });
}

Deadline Init::next_deadline() const {
  Deadline next = ttl_;
  for (const Leftover& leftover : leftovers_)
    next = earlier(next, leftover.deadline);
  if (!is_busy()) return earlier(next, idle_);
  for (const auto& [id, slot] : execs_)
    next = earlier(next, slot.exec->next_check());
  return earlier(next, memory_check_);
}

// Whoever started us hands over connections here; when it is gone, so is the sandbox's reason.
void Init::take_new_connection() {
  auto packet = receive_packet(setup_.control.get(), Deadline::in(0ms));
  if (!packet && packet.error().code == ErrorCode::DeadlineExceeded) return;
  if (!packet || (packet->bytes.empty() && packet->descriptors.empty())) {
    exit_status_ = kEndedByOwner;
    return;
  }
  for (UniqueFd& stream : packet->descriptors) {
    if (connections_.size() < kMostConnections) connections_.emplace_back(std::move(stream));
  }
}

// The payload can reach this socket too, but every process of it bears a mark; one that is
// already gone cannot be asked, and is refused.
void Init::accept_connection() {
  auto stream = accept_from(setup_.listener.get());
  if (!stream || connections_.size() >= kMostConnections) return;
  const auto peer = peer_of(stream->get());
  if (peer && ProcessMarks::is_outsider(peer->process))
    connections_.emplace_back(std::move(*stream));
}

void Init::reap_children() {
  for (;;) {
    siginfo_t information{};
    const int found = ::waitid(P_ALL, 0, &information, WEXITED | WNOHANG | WNOWAIT);
    if (found != 0 || information.si_pid == 0) return;
    const pid_t pid = information.si_pid;
    const Mark mark = ProcessMarks::of(pid);  // while it can still be asked
    int status = 0;
    rusage usage{};
    if (::wait4(pid, &status, 0, &usage) != pid) return;
    for (auto& [id, slot] : execs_) {
      if (slot.exec->mark() == mark || slot.exec->pid() == pid)
        slot.exec->reaped(pid, status, usage);
    }
  }
}

void Init::check_execs() {
  if (ttl_.has_passed()) {
    end_all_execs("the sandbox reached the end of its ttl");
    exit_status_ = kEndedByTtl;
    return;
  }
  const bool is_idle = !is_busy();
  if (!is_idle && setup_.idle_timeout > 0ms) idle_ = Deadline::in(setup_.idle_timeout);
  if (is_idle && idle_.has_passed()) exit_status_ = kEndedByIdleness;
  for (auto& [id, slot] : execs_) {
    slot.exec->check_limits();
  }
  end_leftovers();
  if (memory_.is_on() && !is_idle) watch_memory();
}

void Init::watch_memory() {
  if (!memory_check_.is_never() && !memory_check_.has_passed()) return;
  memory_check_ = Deadline::in(MemoryWatch::kInterval);
  const std::uint64_t used = memory_.overuse(marks_);
  if (used == 0) return;
  pid_t largest = 0;
  std::uint64_t most = 0;
  for (const pid_t pid : marks_.living(ProcessMarks::kAnyMark)) {
    const std::uint64_t size = MemoryWatch::resident_bytes(pid);
    if (size >= most) largest = pid;
    most = std::max(most, size);
  }
  const Mark mark = ProcessMarks::of(largest);
  const std::string detail = fmt::format("{} MiB in use, {} allowed (watched)", used >> 20U,
                                         format_byte_size(memory_.limit_bytes()));
  for (auto& [id, slot] : execs_) {
    if (slot.exec->mark() == mark && !slot.exec->has_ended()) {
      return slot.exec->end_with(Outcome::OutOfMemory, detail);
    }
  }
  marks_.kill_all(mark, Deadline::in(1s));  // left behind by an exec that has ended
}

std::uint64_t Init::new_oom_kills() {
  if (!setup_.oom_events) return 0;
  std::array<char, 4096> text{};
  const ssize_t count = ::pread(setup_.oom_events.get(), text.data(), text.size() - 1, 0);
  if (count <= 0) return 0;
  const std::uint64_t total = parse_oom_kills({text.data(), static_cast<std::size_t>(count)});
  const std::uint64_t fresh = total - std::min(total, seen_oom_kills_);
  seen_oom_kills_ = total;
  return fresh;
}

void Init::finish_execs() {
  for (auto& [id, slot] : execs_) {
    Exec& exec = *slot.exec;
    if (exec.is_running() || exec.has_ended()) continue;
    exec.read_output();
    if (!exec.is_drained()) continue;
    if (exec.may_be_out_of_memory() && new_oom_kills() > 0) {
      exec.out_of_memory(fmt::format("{} MiB of it in files under /workspace and /tmp",
                                     memory_.scratch_bytes() >> 20U));
    }
    exec.finish();
    note_leftovers(exec);
  }
}

// What a command left in the background may live on, but not beyond the command's timeout.
void Init::note_leftovers(const init::Exec& exec) {
  const bool is_alone = ::kill(-1, 0) != 0 && errno == ESRCH;
  if (is_alone) return leftovers_.clear();
  if (!exec.deadline().is_never()) leftovers_.push_back({exec.mark(), exec.deadline()});
}

void Init::end_leftovers() {
  std::erase_if(leftovers_, [this](const Leftover& leftover) {
    if (!leftover.deadline.has_passed()) return false;
    marks_.kill_all(leftover.mark, Deadline::in(1s));
    return true;
  });
}

// The last moments: what ran is said to be lost, and the host gets a short while to read it.
void Init::end_all_execs(const std::string& reason) {
  for (auto& [id, slot] : execs_)
    slot.exec->end_with(Outcome::Lost, reason);
  const Deadline deadline = Deadline::in(200ms);
  while (is_busy() && !deadline.has_passed()) {
    reap_children();
    finish_execs();
    constexpr timespec kMoment{0, 1'000'000};
    ::nanosleep(&kMoment, nullptr);
  }
  write_to_all();
}

void Init::write_to_all() {
  for (Connection& connection : connections_)
    connection.write_available();
  connections_.remove_if([](const Connection& connection) { return !connection.is_open(); });
}

void Init::drop_finished_execs() {
  std::size_t kept = 0;
  for (auto item = execs_.begin(); item != execs_.end();) {
    const Slot& slot = item->second;
    const bool is_done = slot.exec->has_ended() && slot.conversation == nullptr;
    const bool is_waited_for = slot.exec->is_kept() || slot.exec->holds_pipes();
    const bool drops = is_done && (!is_waited_for || ++kept > kMostFinishedExecs);
    item = drops ? execs_.erase(item) : std::next(item);
  }
}

Result<std::unique_ptr<Conversation>> Init::open_conversation(const wire::Frame& frame) {
  using enum wire::MessageType;
  switch (frame.type) {
    case Exec:
      return open_exec(frame);
    case Attach:
      return open_attach(frame);
    case Suspend:
      ::kill(-1, SIGSTOP);
      return open_file_conversation({frame.conversation, Ping, {}});
    case Continue:
      ::kill(-1, SIGCONT);
      return open_file_conversation({frame.conversation, Ping, {}});
    default:
      return open_file_conversation(frame);
  }
}

Result<std::unique_ptr<Conversation>> Init::open_exec(const wire::Frame& frame) {
  auto request = TRY(wire::decode<wire::Exec>(frame.payload));
  const std::string id = request.exec_id;
  if (id.empty() || execs_.contains(id)) {
    return failure(ErrorCode::AlreadyExists, fmt::format("exec '{}' exists", id));
  }
  if (execs_.size() >= kMostExecs) {
    return failure(ErrorCode::ResourceExhausted, "too many commands at once in this sandbox");
  }
  if (!is_busy()) (void)new_oom_kills();  // what was killed before is not this command's
  Slot& slot = execs_[id];
  auto started = init::Exec::start(std::move(request), ++last_mark_, surroundings_);
  if (!started) {
    execs_.erase(id);
    return Failure(std::move(started).error());
  }
  slot.exec = std::move(*started);
  if (memory_.is_on()) memory_check_ = Deadline::in(MemoryWatch::kInterval);
  return listen_to(slot, frame.conversation);
}

Result<std::unique_ptr<Conversation>> Init::open_attach(const wire::Frame& frame) {
  const auto request = TRY(wire::decode<wire::Attach>(frame.payload));
  const auto found = execs_.find(request.exec_id);
  if (found == execs_.end()) {
    return failure(ErrorCode::NotFound, fmt::format("no exec '{}'", request.exec_id));
  }
  Slot& slot = found->second;
  if (slot.conversation != nullptr) std::exchange(slot.conversation, nullptr)->detach();
  if (!slot.exec->stream_of(wire::Stream::Output).rewind(request.output_offset) ||
      !slot.exec->stream_of(wire::Stream::Error).rewind(request.error_offset)) {
    return failure(ErrorCode::InvalidArgument, "that offset was already consumed");
  }
  return listen_to(slot, frame.conversation);
}

std::unique_ptr<Conversation> Init::listen_to(Slot& slot, std::uint32_t number) {
  auto conversation = std::make_unique<ExecConversation>(
      number, *slot.exec, [this](init::Exec& exec) { released(exec); });
  slot.conversation = conversation.get();
  return conversation;
}

// The conversation is over, or its connection is.
void Init::released(init::Exec& exec) {
  const auto found = execs_.find(exec.id());
  if (found == execs_.end()) return;
  found->second.conversation = nullptr;
  if (!exec.has_ended() && !exec.is_kept()) {
    exec.end_with(Outcome::Cancelled, "its connection was lost");
  }
}

namespace {

// A sandbox that was made ahead lies still until somebody takes it, or its owner is gone.
bool take_orders(InitSetup& setup) {
  auto packet = receive_packet(setup.control.get(), Deadline::never());
  if (!packet) return false;
  auto orders = wire::decode<wire::Orders>(packet->bytes);
  if (!orders || packet->descriptors.size() != 1) return false;
  setup.ttl = std::chrono::milliseconds(static_cast<std::int64_t>(orders->ttl_ms));
  setup.idle_timeout = std::chrono::milliseconds(static_cast<std::int64_t>(orders->idle_ms));
  setup.environment = std::move(orders->environment);
  setup.working_directory = std::move(orders->working_directory);
  setup.connection = std::move(packet->descriptors.front());
  return true;
}

}  // namespace

int run_init(InitSetup setup) {
  ::prctl(PR_SET_NAME, "init");
  if (setup.waits_for_orders && !take_orders(setup)) return kEndedByOwner;
  Init init(std::move(setup));
  return init.run();
}

}  // namespace nutshell::init
