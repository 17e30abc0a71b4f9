// Searches one file: counts its matches, and takes the lines of a page.
#pragma once

#include <cstdint>
#include <vector>

#include "base/deadline.h"
#include "init/search/line_window.h"
#include "init/search/matcher.h"
#include "wire/tool_schema.h"

namespace nutshell::init::search {

struct FileCount {
  std::uint64_t matches = 0;
  std::uint64_t bytes = 0;
  bool is_binary = false;
  bool is_partial = false;  // stopped at the deadline, or longer than can be held
};

// A file with a NUL byte in its first block is binary and not searched.
FileCount count_matches(int fd, const Matcher& matcher, LineWindow& window,
                        const Deadline& deadline);

struct Excerpt {
  std::uint64_t skip = 0;  // matches
  std::uint64_t take = 0;
  std::uint32_t context = 0;
  std::size_t most_line_bytes = 0;
};

// The lines of a page, and the bytes that may still be put into it.
struct ExcerptLines {
  std::vector<wire::SearchLine>& lines;
  std::size_t& room;
};

// Appends lines while there is room; returns the number of matches among them. Takes at least one,
// however little room there is.
std::uint64_t take_excerpt(int fd, const Matcher& matcher, LineWindow& window,
                           const Excerpt& excerpt, ExcerptLines out);

// The bytes of a line on the wire besides its text.
inline constexpr std::size_t kLineOverhead = 24;

}  // namespace nutshell::init::search
