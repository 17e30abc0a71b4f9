#include "service/execs/detached_exec.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/defer.h"
#include "base/file.h"

namespace nutshell::service {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPart = 64U << 10U;

Result<UniqueFd> open_spool(const fs::path& path, int flags, std::uint64_t& bytes) {
  UniqueFd file = TRY(open_file(path, O_RDWR | O_APPEND | O_NOFOLLOW | flags, 0600));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return syscall_failure("stat", path.native());
  bytes = static_cast<std::uint64_t>(status.st_size);
  return file;
}

constexpr std::uint64_t kStep = 256U << 10U;  // charged ahead, so that not every write charges
constexpr std::uint64_t kTwoFiles = 8192;     // a block for each, even if empty

constexpr const char* kOutput = ".out";
constexpr const char* kError = ".err";

}  // namespace

Result<> check_offsets(const ExecOffsets& from, const ExecState& state) {
  if (!state.ending) return {};
  if (from.output <= state.output_bytes && from.error <= state.error_bytes) return {};
  return failure(ErrorCode::InvalidArgument,
                 fmt::format("the offset is beyond the end: it wrote {} bytes to standard output "
                             "and {} to standard error",
                             state.output_bytes, state.error_bytes));
}

fs::path DetachedExec::file(const char* suffix) const {
  return spool_.directory / (identity_.exec_id + suffix);
}

Result<std::shared_ptr<DetachedExec>> DetachedExec::open_files(Spool spool, Identity identity,
                                                               int flags) {
  // Shared by its runner and its followers.
  std::shared_ptr<DetachedExec> exec(new DetachedExec(std::move(spool), std::move(identity)));
  exec->output_ = TRY(open_spool(exec->file(kOutput), flags, exec->output_bytes_));
  exec->error_ = TRY(open_spool(exec->file(kError), flags, exec->error_bytes_));
  exec->charge_ = exec->account_.take_anyway(exec->output_bytes_ + exec->error_bytes_ + kTwoFiles);
  return exec;
}

Result<std::shared_ptr<DetachedExec>> DetachedExec::open(Spool spool, Identity identity) {
  auto exec = TRY(open_files(std::move(spool), std::move(identity), O_CREAT));
  exec->events_ = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!exec->events_) return syscall_failure("eventfd");
  return exec;
}

Result<std::shared_ptr<DetachedExec>> DetachedExec::open_ended(Spool spool, Identity identity) {
  auto exec = open_files(spool, identity, 0);
  if (exec || exec.error().code != ErrorCode::NotFound) return exec;
  std::shared_ptr<DetachedExec> bare(new DetachedExec(std::move(spool), std::move(identity)));
  bare->is_dropped_ = true;
  return bare;
}

void DetachedExec::remove_files(const fs::path& directory, const std::string& exec_id) {
  for (const char* suffix : {kOutput, kError})
    ::unlink((directory / (exec_id + suffix)).c_str());
}

std::string DetachedExec::exec_of_file(const std::string& name) {
  for (const std::string_view suffix : {kOutput, kError})
    if (name.ends_with(suffix)) return name.substr(0, name.size() - suffix.size());
  return {};
}

void DetachedExec::unlink_output() {
  remove_files(spool_.directory, identity_.exec_id);
  is_dropped_ = true;
  output_bytes_ = error_bytes_ = 0;
  charge_.shrink(charge_.amount());
  wake_followers();
}

void DetachedExec::drop_output() {
  const std::lock_guard lock(mutex_);
  if (!is_dropped_) unlink_output();
}

ExecState DetachedExec::state() {
  const std::lock_guard lock(mutex_);
  ExecState state;
  state.exec_id = identity_.exec_id;
  state.sandbox_id = identity_.sandbox;
  state.output_bytes = output_bytes_;
  state.error_bytes = error_bytes_;
  state.ending = ending_;
  state.audit_id = audit_id_;
  return state;
}

wire::ExecIo::Taken DetachedExec::take(wire::Stream stream, std::string_view bytes) {
  const bool is_error = stream == wire::Stream::Error;
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      if (is_dropped_) return Taken::ReaderGone;
      const std::uint64_t wanted = output_bytes_ + error_bytes_ + bytes.size() + kTwoFiles;
      const std::uint64_t more = wanted - std::min(wanted, charge_.amount());
      if (more == 0 || charge_.grow(more + kStep) || charge_.grow(more)) break;
      // It has reached its own bound, which no other exec can make room for.
      if (wanted > spool_.most_bytes) return Taken::NoRoom;
    }
    if (!spool_.make_room()) return Taken::NoRoom;
  }
  // The disk is full, so nobody can read the output.
  if (!write_all((is_error ? error_ : output_).get(), bytes)) return Taken::ReaderGone;
  const std::lock_guard lock(mutex_);
  if (is_dropped_) return Taken::ReaderGone;  // the file was unlinked meanwhile
  (is_error ? error_bytes_ : output_bytes_) += bytes.size();
  wake_followers();
  return Taken::Yes;
}

std::optional<wire::ExecEvent> DetachedExec::next_event() {
  const std::lock_guard lock(mutex_);
  if (queue_.empty()) {
    eventfd_t count = 0;
    (void)::eventfd_read(events_.get(), &count);  // an empty counter is not an error
    return std::nullopt;
  }
  wire::ExecEvent event = queue_.front();
  queue_.pop_front();
  return event;
}

void DetachedExec::send(const wire::ExecEvent& event) {
  const std::lock_guard lock(mutex_);
  if (ending_ || queue_.size() > 64) return;
  queue_.push_back(event);
  (void)::eventfd_write(events_.get(), 1);  // a full counter is readable, too
}

void DetachedExec::finish(const ExecResult& result, std::uint64_t audit_id) {
  const std::lock_guard lock(mutex_);
  ending_ = result;
  audit_id_ = audit_id;
  ended_ = Clock::now();
  stream_ = -1;
  output_.reset();
  error_.reset();
  events_.reset();
  wake_followers();
}

std::optional<Clock::duration> DetachedExec::ended_since() {
  const std::lock_guard lock(mutex_);
  return ending_ ? std::optional(Clock::now() - ended_) : std::nullopt;
}

void DetachedExec::hold_stream(int descriptor) {
  const std::lock_guard lock(mutex_);
  stream_ = descriptor;
  if (is_let_go_ && stream_ >= 0) ::shutdown(stream_, SHUT_RDWR);
}

void DetachedExec::let_go() {
  const std::lock_guard lock(mutex_);
  is_let_go_ = true;
  if (stream_ >= 0) ::shutdown(stream_, SHUT_RDWR);
  wake_followers();
}

bool DetachedExec::was_let_go() {
  const std::lock_guard lock(mutex_);
  return is_let_go_;
}

// False if there was nothing to pass on, or `io` wants no more.
Result<bool> DetachedExec::pass_on(int file, wire::Stream stream, std::uint64_t& offset,
                                   wire::ExecIo& io) {
  std::string part(kPart, '\0');
  const ssize_t count = ::pread(file, part.data(), part.size(), static_cast<off_t>(offset));
  if (count < 0) return syscall_failure("read", "the output that is kept");
  if (count == 0) return false;
  part.resize(static_cast<std::size_t>(count));
  offset += part.size();
  if (io.take(stream, part) == Taken::ReaderGone) offset = UINT64_MAX;
  return true;
}

Result<ExecState> DetachedExec::follow(const ExecOffsets& from, const Deadline& deadline,
                                       wire::ExecIo& io) {
  const auto open_one = [this](const char* suffix) -> Result<UniqueFd> {
    auto opened = open_file(file(suffix), O_RDONLY | O_NOFOLLOW);
    if (opened || opened.error().code != ErrorCode::NotFound) return opened;
    return UniqueFd();  // dropped: there is no output, but an ending
  };
  const UniqueFd output = TRY(open_one(kOutput));
  const UniqueFd error = TRY(open_one(kError));
  TRY(check_offsets(from, state()));
  const UniqueFd woken(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!woken) return syscall_failure("eventfd");
  {
    const std::lock_guard lock(mutex_);
    followers_.insert(woken.get());
  }
  const Defer left([&] {
    const std::lock_guard lock(mutex_);
    followers_.erase(woken.get());
  });
  ExecOffsets at = from;
  for (;;) {
    const ExecState before = state();
    bool has_more = false;
    if (at.output < before.output_bytes)
      has_more = TRY(pass_on(output.get(), wire::Stream::Output, at.output, io));
    if (at.error < before.error_bytes)
      has_more = TRY(pass_on(error.get(), wire::Stream::Error, at.error, io)) || has_more;
    while (const auto event = io.next_event())
      send(*event);
    const bool nobody_reads = io.has_left() || (at.output == UINT64_MAX && at.error == UINT64_MAX);
    const bool is_read = at.output >= before.output_bytes && at.error >= before.error_bytes;
    if (nobody_reads || (before.ending && is_read) || deadline.has_passed()) return before;
    if (has_more) continue;
    if (was_let_go()) return before;
    wait_for_more(before, woken.get(), io, deadline);
  }
}

void DetachedExec::wake_followers() {
  for (const int follower : followers_)
    (void)::eventfd_write(follower, 1);  // a full counter is readable, too
}

void DetachedExec::wait_for_more(const ExecState& seen, int woken, const wire::ExecIo& io,
                                 const Deadline& deadline) {
  eventfd_t ignored = 0;
  (void)::eventfd_read(woken, &ignored);
  {
    // Checks for changes after the counter is emptied, so that none is missed.
    const std::lock_guard lock(mutex_);
    const bool has_changed = output_bytes_ != seen.output_bytes ||
                             error_bytes_ != seen.error_bytes || ending_ || is_let_go_;
    if (has_changed) return;
  }
  std::array<pollfd, 2> watched = {pollfd{woken, POLLIN, 0},
                                   pollfd{io.event_descriptor(), POLLIN, 0}};
  (void)::poll(watched.data(), watched.size(), deadline.poll_timeout());  // the caller checks again
}

}  // namespace nutshell::service
