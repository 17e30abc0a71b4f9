#include "audit/log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "base/deadline.h"
#include "base/directory.h"
#include "base/file.h"

namespace nutshell::audit {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kMode = 0600;

std::int64_t now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

Result<> sync_directory(const fs::path& path) {
  const UniqueFd directory = TRY(open_file(path, O_RDONLY | O_DIRECTORY));
  if (::fsync(directory.get()) != 0) return syscall_failure("fsync", path.native());
  return {};
}

Result<> replace_file(const fs::path& path, std::string_view bytes) {
  const fs::path fresh = path.native() + ".new";
  {
    const UniqueFd file = TRY(open_file(fresh, O_WRONLY | O_CREAT | O_TRUNC, kMode));
    TRY(write_all(file.get(), bytes));
    if (::fdatasync(file.get()) != 0) return syscall_failure("fdatasync", fresh.native());
  }
  if (::rename(fresh.c_str(), path.c_str()) != 0) return syscall_failure("rename", path.native());
  return {};
}

// Returns the mark of the last record that is whole and in its place.
Result<Mark> last_mark(const Segment& segment) {
  Mark last{segment.first_id - 1, std::string(kFirstPrevious)};
  TRY(for_each_line(segment.path, [&last](std::string_view line) -> Result<Visit> {
    const auto link = read_link(line);
    if (!link || link->id != last.id + 1) return Visit::Stop;
    last = {link->id, std::string(link->hash)};
    return Visit::GoOn;
  }));
  return last;
}

// A child that a killed writer was starting holds the lock until its exec, a few microseconds
// later.
Result<> take_lock(int head, const fs::path& directory) {
  constexpr std::chrono::milliseconds kPause(2);
  const Deadline patience = Deadline::in(std::chrono::seconds(1));
  while (::flock(head, LOCK_EX | LOCK_NB) != 0) {
    if (patience.has_passed()) {
      return failure(ErrorCode::AlreadyExists,
                     fmt::format("{} is written by another process", directory.native()));
    }
    std::this_thread::sleep_for(kPause);
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Log>> Log::open(AuditOptions options, const Notice& notice) {
  TRY(make_private_directory(options.directory));
  std::unique_ptr<Log> log(new Log(std::move(options)));
  const fs::path head = log->options_.directory / kHeadName;
  log->head_file_ = TRY(open_file(head, O_RDWR | O_CREAT, kMode));
  TRY(take_lock(log->head_file_.get(), log->options_.directory));
  auto recovered = log->recover(notice);
  if (!recovered) return while_doing("open the record", std::move(recovered).error());
  log->durable_id_ = log->last_.id;
  if (log->options_.durability == Durability::Kernel) return log;
  log->syncer_ =
      std::jthread([raw = log.get()](const std::stop_token& stop) { raw->keep_durable(stop); });
  return log;
}

Log::~Log() {
  syncer_.request_stop();
}

Result<> Log::say(const Notice& notice, const std::string& action, const std::string& text) {
  notice(text);
  Entry entry;
  entry.action = action;
  entry.who = "audit";
  entry.outcome = "ok";
  entry.detail = text;
  TRY(write_line(encode_entry(entry)));
  return {};
}

// Compares the segments with the head.
Result<> Log::recover(const Notice& notice) {
  const std::string text = TRY(read_all(head_file_.get(), 4096));
  const bool is_new = text.empty();
  const auto head = is_new ? Result<Mark>(Mark{}) : decode_mark(text);
  last_ = TRY(read_mark(options_.directory / kAnchorName)).value_or(Mark{});
  const std::vector<Segment> segments = TRY(list_segments(options_.directory));
  segments_ = static_cast<std::uint32_t>(segments.size());
  if (segments.empty()) {
    if (is_new || (head && *head == last_)) {
      TRY(open_segment(last_.id + 1));
      return write_head();
    }
  } else {
    // An empty segment continues the chain of the one before it.
    if (segments.size() > 1) last_ = TRY(last_mark(segments[segments.size() - 2]));
    TRY(read_last_segment(segments.back(), notice));
  }
  const Mark found = last_;
  if (head && !is_new && head->id > found.id) {
    // The numbers of missing records are not used again, so verify keeps finding the gap.
    last_ = *head;
    if (segments.empty()) TRY(open_segment(last_.id + 1));
    return say(
        notice, "audit.gap",
        fmt::format("records {} to {} are gone: power was lost before they were on the disk, "
                    "or another program removed them",
                    found.id + 1, head->id));
  }
  if (segments.empty()) return open_segment(last_.id + 1);
  // A writer that died before its first record wrote no head, and lost nothing.
  if (is_new && last_.id == 0) return write_head();
  if (!head || is_new)
    return say(notice, "audit.gap", "the head was gone: records at the end may be missing");
  return write_head();
}

// Sets `last_` to the last whole record and cuts off what follows it.
Result<> Log::read_last_segment(const Segment& segment, const Notice& notice) {
  if (last_.id != segment.first_id - 1) last_ = {segment.first_id - 1, std::string(kFirstPrevious)};
  std::uint64_t whole_bytes = 0;
  const auto rest = for_each_line(segment.path, [&](std::string_view line) -> Result<Visit> {
    const auto link = read_link(line);
    if (!link || link->id != last_.id + 1) return Visit::Stop;
    last_ = {link->id, std::string(link->hash)};
    whole_bytes += line.size() + 1;
    return Visit::GoOn;
  });
  if (!rest) return Failure(rest.error());
  segment_path_ = segment.path;
  segment_ = TRY(open_file(segment.path, O_WRONLY | O_APPEND));
  struct stat status {};
  if (::fstat(segment_.get(), &status) != 0) return syscall_failure("stat", segment.path.native());
  const auto torn = static_cast<std::uint64_t>(status.st_size) - whole_bytes;
  segment_bytes_ = whole_bytes;
  if (torn == 0) return {};
  if (torn > kMostLineBytes) {
    return failure(ErrorCode::Corrupt,
                   fmt::format("{} is damaged behind record {}: 'nutshell audit verify' says more; "
                               "move the directory away to begin a new record",
                               segment.path.native(), last_.id));
  }
  if (::ftruncate(segment_.get(), static_cast<off_t>(whole_bytes)) != 0)
    return syscall_failure("ftruncate", segment.path.native());
  return say(
      notice, "audit.repair",
      fmt::format("{} bytes of a torn record were taken off behind record {}", torn, last_.id));
}

Result<> Log::open_segment(std::uint64_t first_id) {
  segment_path_ = segment_path(options_.directory, first_id);
  segment_ = TRY(open_file(segment_path_, O_WRONLY | O_APPEND | O_CREAT | O_EXCL, kMode));
  segment_bytes_ = 0;
  ++segments_;
  return sync_directory(options_.directory);
}

Result<> Log::rotate() {
  if (::fdatasync(segment_.get()) != 0) return syscall_failure("fdatasync", segment_path_.native());
  TRY(open_segment(last_.id + 1));
  while (segments_ > std::max(options_.most_segments, 2U))
    TRY(remove_oldest());
  return {};
}

// Writes the anchor first: without it the removed segment would count as missing.
Result<> Log::remove_oldest() {
  const std::vector<Segment> segments = TRY(list_segments(options_.directory));
  Mark anchor{segments.at(1).first_id - 1, {}};
  TRY(for_each_line(segments[1].path, [&anchor](std::string_view line) -> Result<Visit> {
    anchor.hash = TRY(read_link(line)).previous;
    return Visit::Stop;
  }));
  if (anchor.hash.empty()) anchor.hash = last_.hash;  // the new segment has no record yet
  TRY(replace_file(options_.directory / kAnchorName, encode_mark(anchor)));
  if (::unlink(segments.front().path.c_str()) != 0)
    return syscall_failure("unlink", segments.front().path.native());
  --segments_;
  return {};
}

Result<> Log::write_head() {
  const std::string text = encode_mark(last_);
  if (::pwrite(head_file_.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
    return syscall_failure("write", "the head of the record");
  return {};
}

// Removes a line that was written in part, so that the next record does not follow it.
Result<> Log::take_back(Error error) {
  trouble_ = error.message;
  if (::ftruncate(segment_.get(), static_cast<off_t>(segment_bytes_)) != 0)
    trouble_ += "; and what was written of it could not be taken back";
  return while_doing("write the record", std::move(error));
}

Result<std::uint64_t> Log::write_line(std::string_view encoded) {
  if (segment_bytes_ >= options_.segment_bytes) TRY(rotate());
  std::string hash;
  const std::string line = encode_line(last_.id + 1, last_.hash, now_us(), encoded, hash);
  if (line.size() > kMostLineBytes)
    return failure(ErrorCode::InvalidArgument, "too long for a record");
  auto written = write_all(segment_.get(), line);
  if (!written) TRY(take_back(std::move(written).error()));
  const Mark before = std::exchange(last_, Mark{last_.id + 1, std::move(hash)});
  auto headed = write_head();
  if (!headed) {
    last_ = before;
    TRY(take_back(std::move(headed).error()));
  }
  segment_bytes_ += line.size();
  return last_.id;
}

Result<std::uint64_t> Log::append(const Entry& entry) {
  const std::string encoded = encode_entry(entry);
  std::unique_lock lock(mutex_);
  const bool was_durable = durable_id_ == last_.id;
  const std::uint64_t id = TRY(write_line(encoded));
  if (options_.durability == Durability::Kernel) {
    trouble_.clear();
    return id;
  }
  if (was_durable) has_new_.notify_all();  // else the syncer is at work already
  if (options_.durability != Durability::Each) return id;
  const std::uint64_t failures = failed_syncs_;
  changed_.wait(lock, [&] { return durable_id_ >= id || failed_syncs_ != failures; });
  if (durable_id_ >= id) return id;
  return failure(ErrorCode::ResourceExhausted,
                 fmt::format("the record is not on the disk: {}", trouble_));
}

Result<> Log::sync() {
  std::unique_lock lock(mutex_);
  sync_once(lock);
  if (trouble_.empty()) return {};
  return failure(ErrorCode::ResourceExhausted, trouble_);
}

Mark Log::head() {
  const std::lock_guard lock(mutex_);
  return last_;
}

std::string Log::trouble() {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

// Releases the lock during fsync. The next sync covers records that are appended meanwhile.
void Log::sync_once(std::unique_lock<std::mutex>& lock) {
  const std::uint64_t id = last_.id;
  const UniqueFd file(::fcntl(segment_.get(), F_DUPFD_CLOEXEC, 0));
  lock.unlock();
  struct stat status {};
  const bool is_there = ::fstat(file.get(), &status) == 0 && status.st_nlink > 0;
  const bool is_durable = ::fdatasync(file.get()) == 0;
  const std::string error = is_durable ? "" : syscall_failure("fdatasync").value().message;
  lock.lock();
  if (is_durable && is_there) {
    durable_id_ = std::max(durable_id_, id);
    trouble_.clear();
  } else {
    ++failed_syncs_;
    trouble_ = is_there ? error : "the file of the record was removed";
  }
  changed_.notify_all();
}

void Log::keep_durable(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    has_new_.wait(lock, stop, [this] { return durable_id_ < last_.id; });
    if (options_.durability == Durability::Group)
      has_new_.wait_for(lock, stop, options_.group_time, [] { return false; });
    const std::uint64_t failures = failed_syncs_;
    sync_once(lock);
    // After a failure waits before the next try.
    if (failed_syncs_ != failures)
      has_new_.wait_for(lock, stop, options_.group_time, [] { return false; });
  }
}

}  // namespace nutshell::audit
