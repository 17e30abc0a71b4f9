// The journal of what tool calls changed in files, so that it can be taken back. Keeps the newest
// changes, up to a number and a size. Not thread-safe; init has one thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "wire/schema.h"

namespace nutshell::init {

// An earlier content of a regular file.
class Content {
 public:
  Content() = default;
  Content(const Content&) = delete;
  Content& operator=(const Content&) = delete;
  virtual ~Content() = default;

  // Opens it for reading from the start; each call gives a descriptor with its own offset.
  [[nodiscard]] virtual Result<UniqueFd> open() const = 0;
  // The bytes of memory or store that its destructor frees.
  [[nodiscard]] virtual std::uint64_t bytes_kept() const = 0;
};

// A content in init's own memory.
class MemoryContent : public Content {
 public:
  explicit MemoryContent(std::string bytes) : bytes_(std::move(bytes)) {}
  [[nodiscard]] Result<UniqueFd> open() const override;
  [[nodiscard]] std::uint64_t bytes_kept() const override { return bytes_.size(); }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

inline constexpr wire::FileKind kNothingThere{0};

// The state of one path at one moment.
struct Image {
  wire::FileInfo info{{}, kNothingThere, 0, 0, 0, {}};  // info.path is not used
  uid_t owner = 0;
  gid_t group = 0;
  // Only for regular files. Shared, because several changes may have the same old content.
  std::shared_ptr<const Content> content;

  [[nodiscard]] bool is_there() const { return info.kind != kNothingThere; }
};

// The change of one path. The entries of a directory that was made or removed are listed, too.
struct PathChange {
  std::string path;  // absolute, without links on the way
  Image before;
  Image after;                // its content is optional, for a better message about a conflict
  std::string after_version;  // full_version() of a regular file, which undo checks; else empty
};

class ChangeJournal {
 public:
  static constexpr std::size_t kMostChanges = 100;
  static constexpr std::uint64_t kMostBytes = 64ULL << 20U;
  // A new content beyond this is not kept.
  static constexpr std::uint64_t kMostAfterBytes = 256U << 10U;

  struct Change {
    std::string id;     // "u12"
    std::string label;  // "edit src/a.cc"
    std::vector<PathChange> paths;
    std::string reverts;  // the change that it took back, if it is an undo
    std::string undone_by;
    std::uint64_t bytes = 0;
  };

  // Returns the id for undo; empty if the change alone is larger than all that may be kept.
  std::string record(std::string label, std::vector<PathChange> paths);
  // The same for a change that took `id` back; undoing it is a redo.
  std::string record_undo(const std::string& id, std::vector<PathChange> paths);

  // Returns nullptr if the change is not kept any more, or never was; was_given() tells the two
  // apart. Valid until the next change is recorded.
  [[nodiscard]] const Change* find(std::string_view id) const;
  [[nodiscard]] bool was_given(std::string_view id) const;
  // The newest change that is neither an undo nor taken back, and has more than caches of compilers
  // and test runners if there is such a one: undo without an id takes it back.
  [[nodiscard]] const Change* newest_undoable() const;
  // The state of the path before its newest change; nullptr if it is unknown.
  [[nodiscard]] const Image* before_last_change(std::string_view path) const;
  // The content that a recent change of this file left, so that a series of edits does not keep
  // each state twice; nullptr if it is unknown.
  [[nodiscard]] std::shared_ptr<const Content> left_behind(std::string_view path,
                                                           std::string_view version) const;
  [[nodiscard]] std::size_t size() const { return changes_.size(); }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  Change* find_kept(std::string_view id);
  void drop_oldest();

  std::deque<Change> changes_;  // oldest first
  std::uint64_t bytes_ = 0;
  std::uint64_t last_number_ = 0;
};

}  // namespace nutshell::init
