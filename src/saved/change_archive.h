// The changes of a workspace in one file, so that they outlive the sandbox: each change with the
// new content of its file, and a summary at the end. A file without a summary is incomplete. What a
// reader finds comes from a sandbox and is hostile: sizes are checked before anything is allocated,
// and callers check paths.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "wire/tool_schema.h"

namespace nutshell::saved {

struct ArchiveSummary {
  std::uint64_t changes = 0;
  std::uint64_t ended_ms = 0;  // when the sandbox ended, since 1970
  std::string why;             // why it ended
  void fields(auto& visit) { visit(changes, ended_ms, why); }
};

struct ArchiveBounds {
  std::uint64_t bytes = 0;  // of the archive
  // Content of the files in it. Sparse files and hard links count whole here and hardly at all
  // against the sandbox's disk limit, so without a bound of its own a small sandbox could fill the
  // archive and push out the changes of others.
  std::uint64_t content = 0;
};

class ArchiveWriter {
 public:
  // Fails with ResourceExhausted beyond the bounds, or when the disk is nearly full. `file` must be
  // empty and stay open.
  ArchiveWriter(int file, ArchiveBounds bounds);

  // A regular file needs exactly `change.after.size` bytes of content before the next call.
  Result<> add(const wire::FileChange& change);
  Result<> add_content(std::string_view bytes);
  [[nodiscard]] std::uint64_t changes() const { return changes_; }
  // Writes the summary, and everything to the disk.
  Result<> finish(std::string why);

 private:
  Result<> put(std::string_view bytes);
  Result<> flush();
  [[nodiscard]] Failure too_large() const;

  int file_;
  ArchiveBounds bounds_;
  std::uint64_t written_ = 0;
  std::uint64_t content_ = 0;
  std::uint64_t changes_ = 0;
  std::uint64_t missing_ = 0;  // content of the last change that was not added yet
  std::string buffer_;
};

class ArchiveReader {
 public:
  // Fails with Corrupt if the file is incomplete.
  static Result<ArchiveReader> open(UniqueFd file);

  [[nodiscard]] const ArchiveSummary& summary() const { return summary_; }
  // Returns the next change, parents before children; nullopt at the end. Skips content of the last
  // change that was not read.
  Result<std::optional<wire::FileChange>> next();
  // Returns up to `most` bytes of the last change's content; empty at its end.
  Result<std::string> read_content(std::size_t most);

 private:
  ArchiveReader(UniqueFd file, ArchiveSummary summary, std::uint64_t end)
      : file_(std::move(file)), summary_(std::move(summary)), end_(end) {}
  Result<std::string> read_at(std::uint64_t offset, std::size_t size) const;

  UniqueFd file_;
  ArchiveSummary summary_;
  std::uint64_t end_;  // where the summary begins
  std::uint64_t at_ = 0;
  std::uint64_t content_left_ = 0;
};

}  // namespace nutshell::saved
