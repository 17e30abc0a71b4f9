// Appends to one chain of the record. Each line holds the hash of the line before. Thread-safe.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include "audit/audit_options.h"
#include "audit/chain_files.h"
#include "audit/record.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace nutshell::audit {

class Log {
 public:
  using Notice = std::function<void(std::string_view)>;

  // Refuses a second writer. Cuts off an unfinished last line, and finds records that the head
  // names but that are missing; tells `notice` of both and records them.
  static Result<std::unique_ptr<Log>> open(AuditOptions options, const Notice& notice);
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;
  ~Log();

  // Returns the record's id. On failure the files are unchanged.
  Result<std::uint64_t> append(const Entry& entry);
  // Returns when everything appended so far is durable.
  Result<> sync();

  [[nodiscard]] const std::filesystem::path& directory() const { return options_.directory; }
  Mark head();
  // Why the last append failed, or that the files were replaced; empty if all is well.
  std::string trouble();

 private:
  explicit Log(AuditOptions options) : options_(std::move(options)) {}

  Result<> recover(const Notice& notice);
  Result<> read_last_segment(const Segment& segment, const Notice& notice);
  Result<> say(const Notice& notice, const std::string& action, const std::string& text);
  Result<> open_segment(std::uint64_t first_id);
  Result<> rotate();
  Result<> remove_oldest();
  Result<> write_head();
  Result<std::uint64_t> write_line(std::string_view encoded);
  Result<> take_back(Error error);
  void keep_durable(const std::stop_token& stop);
  void sync_once(std::unique_lock<std::mutex>& lock);

  AuditOptions options_;
  std::mutex mutex_;
  std::condition_variable_any has_new_;  // notified after an append
  std::condition_variable_any changed_;  // notified after a sync
  UniqueFd head_file_;                   // locked
  UniqueFd segment_;
  std::filesystem::path segment_path_;
  std::uint64_t segment_bytes_ = 0;
  std::uint32_t segments_ = 0;
  Mark last_;
  std::uint64_t durable_id_ = 0;
  std::uint64_t failed_syncs_ = 0;
  std::string trouble_;
  std::jthread syncer_;  // last: it uses all of the above
};

}  // namespace nutshell::audit
