// The saved changes of workspaces whose sandboxes have ended, in the user's state directory: a
// directory for each sandbox, which exists from the sandbox's start. The process that will save the
// changes holds a lock in it for as long as it lives, so a directory without changes and without a
// lock tells that they were lost. Safe for any number of processes.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/unique_fd.h"
#include "core/backend.h"
#include "core/sandbox_status.h"
#include "saved/change_archive.h"

namespace nutshell::saved {

// Limits of what the directory holds. The oldest changes are removed to make room for new ones.
struct Bounds {
  std::uint64_t bytes = 4ULL << 30U;
  std::uint64_t count = 100;
  std::uint64_t days = 7;  // after which 'nutshell gc' and the next save remove them

  // From NUTSHELL_SAVED_BYTES, NUTSHELL_SAVED_COUNT and NUTSHELL_SAVED_DAYS.
  static Result<Bounds> from_environment();
  void fields(auto& visit) { visit(bytes, count, days); }
};

enum class State : std::uint8_t {
  Saving,  // the sandbox lives, or its changes are being saved
  Saved,
  Failed,  // `why` says why they could not be saved
  Lost,    // the saving process was killed too
};

struct SavedWorkspace {
  SandboxStatus sandbox;  // as it was at its start, without its environment
  State state = State::Saving;
  std::uint64_t bytes = 0;
  ArchiveSummary summary;  // if it is saved
  std::string why;         // if it is not
  std::chrono::system_clock::time_point ended;
};

// The process that saves the changes of one sandbox uses this.
class Saving {
 public:
  // Makes the sandbox's directory and takes its lock.
  static Result<Saving> begin(const std::filesystem::path& place, const SandboxStatus& sandbox);
  Saving(Saving&&) = default;

  // A process with a copy of this descriptor holds the lock.
  [[nodiscard]] int lock() const { return lock_.get(); }

  // Makes room within the bounds. The file becomes visible with commit().
  Result<UniqueFd> new_archive(const Bounds& bounds);
  Result<> commit(const Bounds& bounds);
  // Remembers why nothing could be saved.
  void fail(const std::string& why);
  // Removes the directory: there is nothing to save.
  void drop();

 private:
  Saving(std::filesystem::path directory, UniqueFd lock)
      : directory_(std::move(directory)), lock_(std::move(lock)) {}

  std::filesystem::path directory_;
  UniqueFd lock_;
};

class SavedWorkspaces {
 public:
  // The directory of this user; it need not exist.
  static Result<SavedWorkspaces> open();
  // Makes the directory too.
  static Result<SavedWorkspaces> make();
  explicit SavedWorkspaces(std::filesystem::path place) : place_(std::move(place)) {}

  [[nodiscard]] const std::filesystem::path& place() const { return place_; }

  // The newest first.
  [[nodiscard]] Result<std::vector<SavedWorkspace>> list() const;
  // `id` may be the beginning of one. NotFound if there is none.
  [[nodiscard]] Result<SavedWorkspace> find(const std::string& id) const;
  // Waits while the changes of a sandbox that has ended are being saved.
  [[nodiscard]] Result<SavedWorkspace> await(const std::string& id, const Deadline& deadline) const;
  [[nodiscard]] Result<ArchiveReader> read(const std::string& id) const;
  // Removes them, or does nothing if there are none. Waits for a process that is saving them.
  [[nodiscard]] Result<> remove(const std::string& id, const Deadline& deadline) const;

  // Removes what is older than the bounds allow, then the oldest until `new_ones` more fit. Never
  // removes what is being saved.
  void make_room(const Bounds& bounds, std::uint64_t new_ones, SweepMode mode,
                 SweepReport& report) const;

 private:
  std::filesystem::path place_;
};

}  // namespace nutshell::saved
