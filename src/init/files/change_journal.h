// What tool calls did to files, kept so that it can be taken back: the newest changes, up to a
// number and a size. Not thread-safe; init has one thread.
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

// The bytes of a regular file as they once were.
class Content {
 public:
  Content() = default;
  Content(const Content&) = delete;
  Content& operator=(const Content&) = delete;
  virtual ~Content() = default;

  // For reading, from the start; each call gives a descriptor with an offset of its own.
  [[nodiscard]] virtual Result<UniqueFd> open() const = 0;
  // Memory or store that is freed when this goes.
  [[nodiscard]] virtual std::uint64_t bytes_kept() const = 0;
};

// Kept in init's own memory.
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

// One path at one moment.
struct Image {
  wire::FileInfo info{{}, kNothingThere, 0, 0, 0, {}};  // info.path is not used
  uid_t owner = 0;
  gid_t group = 0;
  // Of regular files only. Shared: the pre-image of one change may be that of another.
  std::shared_ptr<const Content> content;

  [[nodiscard]] bool is_there() const { return info.kind != kNothingThere; }
};

// What a change did to one path. The entries of a directory that came or went are listed too.
struct PathChange {
  std::string path;  // absolute, without links on the way
  Image before;
  Image after;                // its content is optional: it only makes a conflict's text better
  std::string after_version;  // full_version() of a regular file: undo checks it; else empty
};

class ChangeJournal {
 public:
  static constexpr std::size_t kMostChanges = 100;
  static constexpr std::uint64_t kMostBytes = 64ULL << 20U;
  // A post-image beyond this is not kept.
  static constexpr std::uint64_t kMostAfterBytes = 256U << 10U;

  struct Change {
    std::string id;     // "u12"
    std::string label;  // "edit src/a.cc"
    std::vector<PathChange> paths;
    std::string reverts;  // the change it took back, if it is an undo
    std::string undone_by;
    std::uint64_t bytes = 0;
  };

  // The id that takes it back. Empty when it alone is larger than everything that may be kept.
  std::string record(std::string label, std::vector<PathChange> paths);
  // The same for a change that took `id` back; taking this one back is the redo.
  std::string record_undo(const std::string& id, std::vector<PathChange> paths);

  // Null when it is not kept any more, or never was; was_given() tells the two apart. Valid until
  // the next change is recorded.
  [[nodiscard]] const Change* find(std::string_view id) const;
  [[nodiscard]] bool was_given(std::string_view id) const;
  // The newest one that is neither an undo nor taken back: what `undo` without an id means.
  [[nodiscard]] const Change* newest_standing() const;
  // What was at the path before the newest change of it; null: not known.
  [[nodiscard]] const Image* before_last_change(std::string_view path) const;
  // The bytes a recent change of this one file left, where they are kept: a series of edits need
  // not keep each state twice. Null: not known.
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
