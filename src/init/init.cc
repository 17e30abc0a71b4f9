#include "init/init.h"

#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/socket.h"
#include "core/sandbox_spec.h"
#include "init/files/file_conversations.h"
#include "init/files/files_conversation.h"
#include "init/files/running.h"
#include "init/layers/layers_conversation.h"
#include "init/network/dial_conversation.h"
#include "init/rehearsal.h"
#include "init/restricted_thread.h"
#include "wire/orders.h"
#include "wire/schema.h"

namespace nutshell::init {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMostConnections = 64;

// Blocks the signals that init reads from a descriptor and ignores the others that could disturb
// it. As PID 1 it gets no signal from inside that it has no handler for.
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

// Bounds a time that was asked for, so that the clock can represent its end.
Deadline deadline_in(std::uint64_t left_ms) {
  constexpr std::uint64_t kLongest = 100ULL * 365 * 24 * 3600 * 1000;
  return Deadline::in(
      std::chrono::milliseconds(static_cast<std::int64_t>(std::min(left_ms, kLongest))));
}

// Whether the peer comes from outside. The payload can reach the listener too. It cannot become
// another user: it has no privileges and gets none. Among the processes of init's own user, all of
// the payload have a mark; a peer that is already gone cannot be checked, and is refused. Its
// number could meanwhile be another's: since Linux 6.5 the kernel hands out a descriptor of the
// peer, which tells whether it still lives.
bool is_from_outside(int stream) {
  constexpr int kPeerPidDescriptor = 77;  // SO_PEERPIDFD, which older headers lack
  int number = -1;
  socklen_t size = sizeof number;
  const int status = ::getsockopt(stream, SOL_SOCKET, kPeerPidDescriptor, &number, &size);
  if (status != 0 && errno != ENOPROTOOPT) return false;  // the peer is gone
  const UniqueFd peer_process(status == 0 ? number : -1);
  const auto peer = peer_of(stream);
  if (!peer) return false;
  if (::geteuid() != 0 && peer->user != ::geteuid()) return true;
  if (!ProcessMarks::is_outsider(peer->process)) return false;
  pollfd end{peer_process.get(), POLLIN, 0};
  return !peer_process || ::poll(&end, 1, 0) == 0;
}

}  // namespace

struct Init::Polled {
  enum class What { Children, Control, Listener, Connection, Conversation, Exec };
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
      execs_(setup_),
      layers_(setup_.store, std::move(setup_.base),
              setup_.is_copied ? Keeping::Copies : Keeping::Layers),
      search_{setup_.working_directory, setup_.memory_priority.get()},
      children_(block_signals()),
      ttl_(Deadline::in(setup_.ttl)) {
  ::umask(022);
  files_.working_directory = setup_.working_directory;
  files_.running = describe_running;
  files_.is_writing = [this] { return is_writing(); };
  if (setup_.connection) connections_.emplace_back(std::move(setup_.connection));
  if (setup_.idle_timeout > 0ms) idle_ = Deadline::in(setup_.idle_timeout);
}

int Init::run() {
  if (!children_) return kCouldNotStart;
  // One of its two threads is always idle: a second heap would only take memory.
  ::mallopt(M_ARENA_MAX, 1);  // NOLINT(concurrency-mt-unsafe): there is one thread yet
  while (exit_status_ < 0) {
    has_new_rules_ = false;
    if (!setup_.path_rules) {
      work();
    } else if (!restricted_.run(setup_.path_rules, [this] { work(); })) {
      return kCouldNotStart;
    }
  }
  connections_.clear();  // conversations refer to execs
  setup_.store.reset();  // so that the layers stay, for the process outside that saves the changes
  return exit_status_;
}

void Init::work() {
  while (exit_status_ < 0 && !has_new_rules_) {
    poll_once();
    // While no exec runs, SIGCHLD is the only news of orphans that init adopted.
    if (std::exchange(has_ended_children_, false) || execs_.is_busy()) execs_.reap_children();
    for (Connection& connection : connections_)
      connection.progress();
    if (network_) network_->progress();
    check_deadlines();
    execs_.check();
    execs_.finish();
    write_to_all();
    files_.spent.clear();
    execs_.drop_finished();
  }
}

void Init::poll_once() {
  Polled polled;
  polled.add(setup_.control.get(), POLLIN, {Polled::What::Control});
  polled.add(setup_.listener.get(), POLLIN, {Polled::What::Listener});
  for (Connection& connection : connections_) {
    polled.add(connection.descriptor(), connection.wanted_events(),
               {Polled::What::Connection, &connection});
    for (const int fd : connection.awaited_descriptors())
      polled.add(fd, POLLIN, {Polled::What::Conversation});
  }
  for (Exec* exec : execs_.all()) {
    const Polled::Entry entry{Polled::What::Exec, nullptr, exec};
    polled.add(exec->output_descriptor(), POLLIN, entry);
    polled.add(exec->error_descriptor(), POLLIN, entry);
    polled.add(exec->input_descriptor(), POLLOUT, entry);
  }
  if (network_) polled.add(network_->descriptor(), POLLIN, {Polled::What::Conversation});
  polled.add(children_.get(), POLLIN, {Polled::What::Children});
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
        // Read only to make it unreadable again: the children that ended are reaped right after.
        // However many they are, the signal is kept once.
        (void)!::read(children_.get(), &information, sizeof information);
        has_ended_children_ = true;
        break;
      }
      case Polled::What::Control:
        take_new_connection();
        if (has_new_rules_) return;  // all other events are served under the new rules
        break;
      case Polled::What::Listener:
        accept_connection();
        break;
      case Polled::What::Connection:
        if ((events & (POLLIN | POLLHUP | POLLERR)) != 0) {
          files_.caller = entry.connection->life();
          entry.connection->read_available(
              [this](const wire::Frame& frame) { return open_conversation(frame); });
          // Sends answers at once, unless a command runs: its output and end leave together.
          if (!execs_.is_busy()) entry.connection->write_available();
        }
        if (setup_.idle_timeout > 0ms) idle_ = Deadline::in(setup_.idle_timeout);
        break;
      case Polled::What::Conversation:
        break;  // progress() is called for all of them after every poll
      case Polled::What::Exec:
        entry.exec->read_output();
        entry.exec->write_input();
        break;
    }
  }
}

Deadline Init::next_deadline() const {
  Deadline next = earlier(ttl_, execs_.next_check());
  if (network_) next = earlier(next, network_->deadline());
  for (const Connection& connection : connections_)
    next = earlier(next, connection.next_deadline());
  return is_busy() ? next : earlier(next, idle_);
}

// The owner hands over connections here; when it is gone, the sandbox ends.
void Init::take_new_connection() {
  auto packet = receive_packet(setup_.control.get(), Deadline::in(0ms));
  if (!packet && packet.error().code == ErrorCode::DeadlineExceeded) return;
  if (!packet || (packet->bytes.empty() && packet->descriptors.empty())) {
    exit_status_ = kEndedByOwner;
    return;
  }
  if (packet->bytes.size() == 1 && packet->bytes[0] == kNewPathRules &&
      packet->descriptors.size() == 1) {
    setup_.path_rules = std::move(packet->descriptors.front());
    has_new_rules_ = true;
    return;
  }
  if (packet->bytes.size() == 1 + sizeof(std::uint64_t) && packet->bytes[0] == kNewTimeLeft) {
    std::uint64_t left_ms = 0;
    std::memcpy(&left_ms, packet->bytes.data() + 1, sizeof left_ms);
    ttl_ = deadline_in(left_ms);
    return;
  }
  for (UniqueFd& stream : packet->descriptors) {
    if (connections_.size() < kMostConnections) connections_.emplace_back(std::move(stream));
  }
}

void Init::accept_connection() {
  auto stream = accept_from(setup_.listener.get());
  if (!stream || connections_.size() >= kMostConnections) return;
  if (is_from_outside(stream->get())) connections_.emplace_back(std::move(*stream));
}

void Init::check_deadlines() {
  if (ttl_.has_passed()) {
    execs_.end_all("the sandbox reached the end of its ttl");
    exit_status_ = kEndedByTtl;
    return;
  }
  if (is_busy()) {
    if (setup_.idle_timeout > 0ms) idle_ = Deadline::in(setup_.idle_timeout);
  } else if (idle_.has_passed()) {
    exit_status_ = kEndedByIdleness;
  }
}

bool Init::is_writing() const {
  return std::any_of(connections_.begin(), connections_.end(),
                     [](const Connection& connection) { return connection.is_writing(); });
}

void Init::write_to_all() {
  for (Connection& connection : connections_)
    connection.write_available();
  connections_.remove_if([](const Connection& connection) { return !connection.is_open(); });
  if (setup_.is_for_one_caller && connections_.empty()) exit_status_ = kEndedByOwner;
}

Result<std::unique_ptr<Conversation>> Init::open_conversation(const wire::Frame& frame) {
  using enum wire::MessageType;
  TRY(prepare_for(frame, layers_, files_));
  switch (frame.type) {
    case Exec:
      return execs_.start(frame);
    case Attach:
      return execs_.attach(frame);
    case Suspend:
      execs_.suspend();
      return open_file_conversation({frame.conversation, Ping, {}});
    case Continue:
      execs_.resume();
      return open_file_conversation({frame.conversation, Ping, {}});
    case EndAll:
      execs_.end_running(TRY(wire::decode<wire::EndAll>(frame.payload)).reason);
      ::kill(-1, SIGKILL);  // processes that ended execs left behind
      return open_file_conversation({frame.conversation, Ping, {}});
    case Release:
      if (setup_.is_ended_by_first_connection) setup_.control.reset();
      return open_file_conversation({frame.conversation, Ping, {}});
    case SetTimeLeft:
      ttl_ = deadline_in(TRY(wire::decode<wire::SetTimeLeft>(frame.payload)).left_ms);
      return open_file_conversation({frame.conversation, Ping, {}});
    case ListDirectory:
    case FindFiles:
    case Search:
      return open_search_conversation(frame, search_);
    case UseNetwork:
    case Egress:
      return open_network_conversation(frame);
    case Dial:
      return open_dial_conversation(frame);
    default:
      break;
  }
  if (auto opened = TRY(open_layers_conversation(frame, layers_, files_))) return opened;
  if (auto opened = TRY(open_files_conversation(frame, files_))) return opened;
  return open_file_conversation(frame);
}

Result<> Init::use_network() {
  if (network_) return {};
  const bool can_watch = can_watch_connects();
  Network::Setup setup;
  setup.way = can_watch ? wire::NetworkWay::Notification : wire::NetworkWay::Proxy;
  setup.name_datagrams = std::move(setup_.name_datagrams);
  setup.name_listener = std::move(setup_.name_listener);
  setup.note_refusal = [this](Mark mark, const std::string& reason) {
    execs_.note_refusal(mark, reason);
  };
  if (setup_.path_rules) {
    setup.run_unrestricted = [this](const auto& task) { restricted_.run_unrestricted(task); };
  }
  network_ = TRY(Network::create(std::move(setup)));
  if (can_watch) execs_.watch_connects(network_->watch());
  execs_.set_variables(network_->variables());
  return {};
}

Result<std::unique_ptr<Conversation>> Init::open_network_conversation(const wire::Frame& frame) {
  if (frame.type == wire::MessageType::UseNetwork) {
    TRY(use_network());
    return open_file_conversation({frame.conversation, wire::MessageType::Ping, {}});
  }
  if (!network_) return failure(ErrorCode::Conflict, "this sandbox has no network");
  const auto egress = TRY(wire::decode<wire::Egress>(frame.payload));
  std::vector<std::string> variables = network_->variables();
  variables.insert(variables.end(), egress.environment.begin(), egress.environment.end());
  execs_.set_variables(variables);
  return network_->open(frame.conversation, egress);
}

namespace {

// A sandbox that was made ahead waits until a caller takes it, or its owner is gone.
bool take_orders(InitSetup& setup) {
  auto packet = receive_packet(setup.control.get(), Deadline::never());
  if (!packet) return false;
  auto orders = wire::decode<wire::Orders>(packet->bytes);
  if (!orders || packet->descriptors.size() != 1) return false;
  setup.ttl = std::chrono::milliseconds(static_cast<std::int64_t>(orders->ttl_ms));
  setup.idle_timeout = std::chrono::milliseconds(static_cast<std::int64_t>(orders->idle_ms));
  setup.environment = std::move(orders->environment);
  setup.working_directory = std::move(orders->working_directory);
  setup.is_for_one_caller = orders->ends_with_connection != 0;
  setup.connection = std::move(packet->descriptors.front());
  return true;
}

}  // namespace

int run_init(InitSetup setup) {
  ::prctl(PR_SET_NAME, "init");
  (void)::mkdir(kHomeDirectory,
                0700);  // commands run without it too, should the disk limit be tiny
  if (setup.waits_for_orders) {
    rehearse();
    if (!take_orders(setup)) return kEndedByOwner;
  }
  Init init(std::move(setup));
  return init.run();
}

}  // namespace nutshell::init
