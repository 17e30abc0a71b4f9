#include "init/exec/exec_table.h"

#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/byte_size.h"
#include "init/exec/payload_filter.h"

namespace nutshell::init {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMostExecs = 1024;
constexpr std::size_t kMostFinishedExecs = 64;  // kept for a host that comes back

std::uint64_t parse_oom_kills(std::string_view text) {
  constexpr std::string_view kKey = "oom_kill ";
  const std::size_t at = text.find(kKey);
  if (at == std::string_view::npos) return 0;
  return std::strtoull(text.data() + at + kKey.size(), nullptr, 10);
}

// A watcher inside the sandbox cannot see pages that no process maps, unless the kernel counts for
// this sandbox alone.
PayloadRules rules_for(const InitSetup& setup) {
  if (ProcessMarks::place() == ProcessMarks::Place::Resident) return PayloadRules::Resident;
  if (setup.watched_memory_bytes > 0) return PayloadRules::Watched;
  return setup.is_pinned ? PayloadRules::Pinned : PayloadRules::Free;
}

MemoryWatch::Source source_of(const InitSetup& setup) {
  return setup.has_own_kernel ? MemoryWatch::Source::WholeKernel : MemoryWatch::Source::Processes;
}

// Whether any process lives besides init; all descend from a child of init. kill(-1, 0) would tell
// too, but makes the kernel look at every process of the host.
bool has_children() {
  siginfo_t information{};
  return ::waitid(P_ALL, 0, &information, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0 ||
         errno != ECHILD;
}

unsigned count_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return static_cast<unsigned>(std::max(1, CPU_COUNT(&set)));
}

}  // namespace

ExecTable::ExecTable(const InitSetup& setup)
    : setup_(setup),
      memory_(setup.watched_memory_bytes, setup.scratch, source_of(setup)),
      cpu_(setup.watched_millicpus, count_cores()),
      halt_(marks_),
      settings_{marks_,
                setup.environment,
                setup.working_directory,
                payload_filter(rules_for(setup)),
                count_cores(),
                setup.memory_priority.get()} {
  (void)new_oom_kills();  // a reused cgroup has old counts: only new ones matter
}

bool ExecTable::is_busy() const {
  return std::any_of(execs_.begin(), execs_.end(),
                     [](const auto& item) { return !item.second.exec->has_ended(); });
}

std::vector<Exec*> ExecTable::all() const {
  std::vector<Exec*> execs;
  execs.reserve(execs_.size());
  for (const auto& [id, slot] : execs_)
    execs.push_back(slot.exec.get());
  return execs;
}

Deadline ExecTable::next_check() const {
  Deadline next = cpu_.next_look();
  for (const Leftover& leftover : leftovers_)
    next = earlier(next, leftover.deadline);
  next = earlier(next, memory_check_);
  next = earlier(next, kernel_memory_.next_look());
  if (!is_busy()) return next;
  for (const auto& [id, slot] : execs_)
    next = earlier(next, slot.exec->next_check());
  return next;
}

void ExecTable::reap_children() {
  for (;;) {
    siginfo_t information{};
    const int found = ::waitid(P_ALL, 0, &information, WEXITED | WNOHANG | WNOWAIT);
    if (found != 0 || information.si_pid == 0) return;
    const pid_t pid = information.si_pid;
    const Mark mark = ProcessMarks::of(pid);  // read before it is reaped
    int status = 0;
    rusage usage{};
    if (::wait4(pid, &status, 0, &usage) != pid) return;
    for (auto& [id, slot] : execs_) {
      if (slot.exec->mark() == mark || slot.exec->pid() == pid)
        slot.exec->reaped(pid, status, usage);
    }
  }
}

void ExecTable::check() {
  for (auto& [id, slot] : execs_)
    slot.exec->check_limits();
  end_leftovers();
  if (memory_.is_on()) watch_memory();
  if (kernel_memory_.next_look().has_passed()) watch_kernel_memory();
  if (cpu_.is_on()) watch_cpu();
}

void ExecTable::watch_cpu() {
  cpu_.look(marks_, halt_);
  const bool may_run = !cpu_.is_in_debt() || cpu_.next_look().is_never();
  if (halt_.is_on() && !is_suspended_ && may_run) halt_.resume();
}

void ExecTable::suspend() {
  is_suspended_ = true;
  if (!halt_.is_on()) halt_.stop_all();
}

void ExecTable::resume() {
  is_suspended_ = false;
  if (!cpu_.is_in_debt()) halt_.resume();
}

// Watches as long as any process lives: a background process can take as much as a command.
void ExecTable::watch_memory() {
  if (memory_check_.is_never() || !memory_check_.has_passed()) return;
  if (!is_busy() && !has_children()) {
    memory_check_ = Deadline::never();  // until the next command starts
    return;
  }
  memory_check_ = Deadline::in(MemoryWatch::kInterval);
  const std::uint64_t used = memory_.overuse(marks_);
  if (used == 0) return;
  pid_t largest = 0;
  std::uint64_t most = 0;
  for (const pid_t pid : marks_.living(ProcessMarks::kAnyMark)) {
    const std::uint64_t size = MemoryWatch::bytes_of(pid);
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

// Ends all commands: what is held cannot be told apart by process.
void ExecTable::watch_kernel_memory() {
  if (!is_busy() && !has_children()) return kernel_memory_.end();  // until the next command starts
  const std::string beyond = kernel_memory_.look();
  if (beyond.empty()) return;
  for (auto& [id, slot] : execs_)
    slot.exec->end_with(Outcome::OutOfMemory, beyond);
  marks_.kill_all(ProcessMarks::kAnyMark, Deadline::in(1s));  // what ended execs have left behind
}

std::uint64_t ExecTable::new_oom_kills() {
  if (!setup_.oom_events) return 0;
  std::array<char, 4096> text{};
  const ssize_t count = ::pread(setup_.oom_events.get(), text.data(), text.size() - 1, 0);
  if (count <= 0) return 0;
  const std::uint64_t total = parse_oom_kills({text.data(), static_cast<std::size_t>(count)});
  const std::uint64_t fresh = total - std::min(total, seen_oom_kills_);
  seen_oom_kills_ = total;
  return fresh;
}

void ExecTable::finish() {
  for (auto& [id, slot] : execs_) {
    Exec& exec = *slot.exec;
    if (!exec.is_running() && !exec.has_ended()) finish(exec);
    if (exec.has_ended() && slot.place == 0) slot.place = ++ended_;
  }
}

void ExecTable::finish(Exec& exec) {
  exec.read_output();
  if (!exec.is_drained()) return;
  if (exec.may_be_out_of_memory() && new_oom_kills() > 0) {
    exec.out_of_memory(fmt::format("{} MiB of it in files under /workspace and /tmp",
                                   memory_.scratch_bytes() >> 20U));
  }
  note_leftovers(exec);
  exec.finish();
}

// Background processes of a command may live on, but not beyond the command's timeout.
void ExecTable::note_leftovers(Exec& exec) {
  if (!has_children()) return leftovers_.clear();
  if (exec.deadline().is_never()) return;
  leftovers_.push_back({exec.mark(), exec.deadline()});
  exec.note_left_running(marks_.living(exec.mark()).size());
}

void ExecTable::end_leftovers() {
  std::erase_if(leftovers_, [this](const Leftover& leftover) {
    if (!leftover.deadline.has_passed()) return false;
    marks_.kill_all(leftover.mark, Deadline::in(1s));
    return true;
  });
}

// Gives the connections a short time to send the ends to the host.
void ExecTable::end_all(const std::string& reason) {
  for (auto& [id, slot] : execs_)
    slot.exec->end_with(Outcome::Lost, reason);
  const Deadline deadline = Deadline::in(200ms);
  while (is_busy() && !deadline.has_passed()) {
    reap_children();
    finish();
    constexpr timespec kMoment{0, 1'000'000};
    ::nanosleep(&kMoment, nullptr);
  }
}

void ExecTable::end_running(const std::string& reason) {
  for (auto& [id, slot] : execs_)
    slot.exec->end_with(Outcome::TimedOut, reason);
}

void ExecTable::drop_finished() {
  std::vector<std::uint64_t> kept;  // places of those that a host may still attach to
  for (auto item = execs_.begin(); item != execs_.end();) {
    const Slot& slot = item->second;
    const bool is_done = slot.exec->has_ended() && slot.conversation == nullptr;
    const bool is_wanted = slot.exec->is_kept() || slot.exec->holds_pipes();
    if (is_done && is_wanted) kept.push_back(slot.place);
    item = is_done && !is_wanted ? execs_.erase(item) : std::next(item);
  }
  if (kept.size() <= kMostFinishedExecs) return;
  std::sort(kept.begin(), kept.end());
  const std::uint64_t oldest_place = kept[kept.size() - kMostFinishedExecs];
  std::erase_if(execs_, [&](const auto& item) {
    const Slot& slot = item.second;
    return slot.place > 0 && slot.place < oldest_place && slot.conversation == nullptr;
  });
}

Result<std::unique_ptr<Conversation>> ExecTable::start(const wire::Frame& frame) {
  auto request = TRY(wire::decode<wire::Exec>(frame.payload));
  const std::string id = request.exec_id;
  if (id.empty() || execs_.contains(id)) {
    return failure(ErrorCode::AlreadyExists, fmt::format("exec '{}' exists", id));
  }
  if (execs_.size() >= kMostExecs) {
    return failure(ErrorCode::ResourceExhausted, "too many commands at once in this sandbox");
  }
  if (!is_busy()) (void)new_oom_kills();  // earlier kills do not count for this command
  cpu_.begin(marks_);
  Slot& slot = execs_[id];
  auto started = Exec::start(std::move(request), ++last_mark_, settings_);
  if (watch_.sender >= 0) watch_.has_started(last_mark_);  // also if it could not be run
  if (!started) {
    execs_.erase(id);
    return Failure(std::move(started).error());
  }
  slot.exec = std::move(*started);
  if (memory_.is_on() && memory_check_.is_never()) {
    memory_check_ = Deadline::in(MemoryWatch::kInterval);
  }
  if (!setup_.has_own_kernel) kernel_memory_.begin();
  return listen_to(slot, frame.conversation);
}

Result<std::unique_ptr<Conversation>> ExecTable::attach(const wire::Frame& frame) {
  const auto request = TRY(wire::decode<wire::Attach>(frame.payload));
  const auto found = execs_.find(request.exec_id);
  if (found == execs_.end()) {
    return failure(ErrorCode::NotFound, fmt::format("no exec '{}'", request.exec_id));
  }
  Slot& slot = found->second;
  OutputStream& output = slot.exec->stream_of(wire::Stream::Output);
  OutputStream& error = slot.exec->stream_of(wire::Stream::Error);
  // Checked before anything changes: a refused attach takes nothing from the current listener.
  if (!output.can_rewind(request.output_offset) || !error.can_rewind(request.error_offset)) {
    return failure(ErrorCode::InvalidArgument, "that offset was already consumed");
  }
  if (slot.conversation != nullptr) std::exchange(slot.conversation, nullptr)->detach();
  output.rewind(request.output_offset);
  error.rewind(request.error_offset);
  return listen_to(slot, frame.conversation);
}

void ExecTable::watch_connects(ConnectWatch watch) {
  watch_ = std::move(watch);
  settings_.watch_sender = watch_.sender;
}

void ExecTable::set_variables(const std::vector<std::string>& variables) {
  settings_.environment = setup_.environment;
  for (const std::string& variable : variables) {
    const std::string name = variable.substr(0, variable.find('=') + 1);
    std::erase_if(settings_.environment,
                  [&](const std::string& old) { return old.starts_with(name); });
    settings_.environment.push_back(variable);
  }
}

void ExecTable::note_refusal(Mark mark, const std::string& reason) {
  for (auto& [id, slot] : execs_) {
    if (mark == ProcessMarks::kAnyMark || slot.exec->mark() == mark) {
      slot.exec->note_refusal(reason);
    }
  }
}

std::unique_ptr<Conversation> ExecTable::listen_to(Slot& slot, std::uint32_t number) {
  auto conversation = std::make_unique<ExecConversation>(number, *slot.exec,
                                                         [this](Exec& exec) { released(exec); });
  slot.conversation = conversation.get();
  slot.exec->set_listener(true);
  return conversation;
}

// Called when the conversation or its connection is over.
void ExecTable::released(Exec& exec) {
  const auto found = execs_.find(exec.id());
  if (found == execs_.end()) return;
  found->second.conversation = nullptr;
  exec.set_listener(false);
  if (!exec.has_ended() && !exec.is_kept()) {
    exec.end_with(Outcome::Cancelled, "its connection was lost");
  }
}

}  // namespace nutshell::init
