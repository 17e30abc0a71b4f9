#include "tools/stored_output.h"

#include <fmt/format.h>

#include <algorithm>

namespace nutshell {
namespace {

std::uint64_t count_line_ends(std::string_view text) {
  return static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

void StoredStream::append(std::string_view bytes) {
  if (missing == 0 && tail.empty()) {
    const std::size_t room = most_head - std::min(most_head, head.size());
    head += bytes.substr(0, room);
    bytes.remove_prefix(std::min(room, bytes.size()));
  }
  tail += bytes;
  if (tail.size() > 2 * most_tail) trim();
}

void StoredStream::skip(std::uint64_t bytes) {
  missing += tail.size() + bytes;
  missing_lines += count_line_ends(tail);
  tail.clear();
}

void StoredStream::trim() {
  if (tail.size() <= most_tail) return;
  const std::size_t surplus = tail.size() - most_tail;
  missing_lines += count_line_ends(std::string_view(tail).substr(0, surplus));
  tail.erase(0, surplus);
  missing += surplus;
}

void StoredStream::stop_growing() {
  constexpr std::size_t kLeast = 16U << 10U;
  most_head = std::clamp(head.size(), kLeast, most_head);
  most_tail = std::clamp(tail.size() / 2, kLeast, most_tail);
}

std::string whole_text(const StoredStream& stream) {
  if (stream.missing == 0) return stream.head + stream.tail;
  return fmt::format("{}\n[{} bytes are not kept]\n{}", stream.head, stream.missing, stream.tail);
}

}  // namespace nutshell
