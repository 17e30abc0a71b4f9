// The files of a record: segments named after their first record, a head that names the last
// record, and an anchor that names the first one since old segments were removed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "audit/record.h"
#include "base/result.h"

namespace nutshell::audit {

// A place in the chain: a record and its hash.
struct Mark {
  std::uint64_t id = 0;  // 0 before the first
  std::string hash{kFirstPrevious};

  bool operator==(const Mark&) const = default;
};

struct Segment {
  std::filesystem::path path;
  std::uint64_t first_id = 0;
};

inline constexpr const char* kHeadName = "head";
inline constexpr const char* kAnchorName = "anchor";
inline constexpr std::size_t kMarkBytes = 128;

std::filesystem::path segment_path(const std::filesystem::path& directory, std::uint64_t first_id);
// Lists the segments in order; empty if there is no such directory.
Result<std::vector<Segment>> list_segments(const std::filesystem::path& directory);

// Always of the same size, so that one write replaces the old mark.
std::string encode_mark(const Mark& mark);
Result<Mark> decode_mark(std::string_view text);
// nullopt if there is no such file.
Result<std::optional<Mark>> read_mark(const std::filesystem::path& path);

// Visits each whole line of a file, without its newline, from byte `from` until `visit` says stop.
// Returns what is left behind the last newline.
enum class Visit : std::uint8_t { GoOn, Stop };
using LineVisitor = std::function<Result<Visit>(std::string_view line)>;
Result<std::string> for_each_line(const std::filesystem::path& path, const LineVisitor& visit,
                                  std::uint64_t from = 0);
// Finds by binary search an offset where a line begins, at or shortly before record `id`. Zero if
// the lines are damaged.
Result<std::uint64_t> place_before(const std::filesystem::path& path, std::uint64_t id);

}  // namespace nutshell::audit
