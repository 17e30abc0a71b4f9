// The files that a record consists of: segments named after their first record, a head that says
// how far the record goes, and an anchor that says where it begins since old segments were removed.
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

// A place in the chain: a record, and what it hashes to.
struct Mark {
  std::uint64_t id = 0;  // 0: before the first
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
// In order. A directory that is not there has none.
Result<std::vector<Segment>> list_segments(const std::filesystem::path& directory);

// Of one size, so that a new one replaces the old one in one write.
std::string encode_mark(const Mark& mark);
Result<Mark> decode_mark(std::string_view text);
// Nothing where there is no such file.
Result<std::optional<Mark>> read_mark(const std::filesystem::path& path);

// Each whole line of a file, without its newline, until `visit` says stop; the first one begins at
// byte `from`. Gives what is left behind the last newline.
enum class Visit : std::uint8_t { GoOn, Stop };
using LineVisitor = std::function<Result<Visit>(std::string_view line)>;
Result<std::string> for_each_line(const std::filesystem::path& path, const LineVisitor& visit,
                                  std::uint64_t from = 0);
// Where a line begins that is not behind record `id`, and near it: found by halving, since records
// are in order. Zero where the lines are not as they were written.
Result<std::uint64_t> place_before(const std::filesystem::path& path, std::uint64_t id);

}  // namespace nutshell::audit
