#include "audit/chain_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "base/file.h"

namespace nutshell::audit {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".jsonl";
constexpr std::size_t kReadBytes = 1U << 18U;
constexpr std::uint64_t kNearBytes = 1U << 16U;

std::uint64_t first_id_of(const std::string& name) {
  if (name.size() <= kSuffix.size() || !name.ends_with(kSuffix)) return 0;
  std::uint64_t id = 0;
  const char* const end = name.data() + name.size() - kSuffix.size();
  const auto [after, error] = std::from_chars(name.data(), end, id);
  return error == std::errc() && after == end ? id : 0;
}

Result<Visit> visit_lines(std::string& pending, const LineVisitor& visit) {
  std::size_t begin = 0;
  for (;;) {
    const std::size_t newline = pending.find('\n', begin);
    if (newline == std::string::npos) break;
    const auto next = TRY(visit(std::string_view(pending).substr(begin, newline - begin)));
    begin = newline + 1;
    if (next == Visit::Stop) return Visit::Stop;
  }
  pending.erase(0, begin);
  return Visit::GoOn;
}

Result<std::string> read_at(int file, std::uint64_t from, std::size_t most) {
  std::string bytes(most, '\0');
  ssize_t count = -1;
  do {
    count = ::pread(file, bytes.data(), most, static_cast<off_t>(from));
  } while (count < 0 && errno == EINTR);
  if (count < 0) return syscall_failure("read", "the record");
  bytes.resize(static_cast<std::size_t>(count));
  return bytes;
}

// Finds the first line that begins behind `from`, and its record id; zero if it has none.
struct LineStart {
  std::uint64_t at = 0;
  std::uint64_t id = 0;
};
Result<LineStart> next_line(int file, std::uint64_t from) {
  LineStart found;
  for (const std::size_t most : {std::size_t{4096}, kMostLineBytes + 256}) {  // most are short
    const std::string bytes = TRY(read_at(file, from, most));
    const std::size_t newline = bytes.find('\n');
    if (newline == std::string::npos) continue;
    found = {from + newline + 1, read_id(std::string_view(bytes).substr(newline + 1)).value_or(0)};
    if (found.id != 0) break;
  }
  return found;
}

}  // namespace

fs::path segment_path(const fs::path& directory, std::uint64_t first_id) {
  return directory / fmt::format("{:020}{}", first_id, kSuffix);
}

Result<std::vector<Segment>> list_segments(const fs::path& directory) {
  std::vector<Segment> segments;
  std::error_code error;
  for (fs::directory_iterator item(directory, error), end; !error && item != end;
       item.increment(error)) {
    const std::uint64_t id = first_id_of(item->path().filename().native());
    if (id != 0) segments.push_back({item->path(), id});
  }
  if (error && error != std::errc::no_such_file_or_directory)
    return syscall_failure(error.value(), "list", directory.native());
  std::sort(segments.begin(), segments.end(),
            [](const Segment& a, const Segment& b) { return a.first_id < b.first_id; });
  return segments;
}

std::string encode_mark(const Mark& mark) {
  std::string text = fmt::format(R"({{"id":{},"hash":"{}"}})", mark.id, mark.hash);
  text.resize(kMarkBytes - 1, ' ');
  return text + '\n';
}

Result<Mark> decode_mark(std::string_view text) {
  constexpr std::string_view kStart = R"({"id":)";
  constexpr std::string_view kMiddle = R"(,"hash":")";
  Mark mark;
  const char* const end = text.data() + text.size();
  const bool is_begun = text.starts_with(kStart);
  const auto [after, error] = is_begun ? std::from_chars(text.data() + kStart.size(), end, mark.id)
                                       : std::from_chars_result{end, std::errc::invalid_argument};
  const std::string_view rest(after, static_cast<std::size_t>(end - after));
  if (error != std::errc() || !rest.starts_with(kMiddle) ||
      rest.size() < kMiddle.size() + kHashDigits)
    return failure(ErrorCode::Corrupt, "not a mark of the record");
  mark.hash = rest.substr(kMiddle.size(), kHashDigits);
  if (mark.hash.find_first_not_of("0123456789abcdef") != std::string::npos)
    return failure(ErrorCode::Corrupt, "not a mark of the record");
  return mark;
}

Result<std::optional<Mark>> read_mark(const fs::path& path) {
  const auto text = read_file(path, 4096);
  if (!text && text.error().code == ErrorCode::NotFound) return std::optional<Mark>();
  if (!text) return Failure(text.error());
  if (text->empty()) return std::optional<Mark>();
  auto mark = decode_mark(*text);
  if (!mark) return while_doing(path.native(), std::move(mark).error());
  return std::optional(std::move(*mark));
}

Result<std::string> for_each_line(const fs::path& path, const LineVisitor& visit,
                                  std::uint64_t from) {
  const UniqueFd file = TRY(open_file(path, O_RDONLY));
  std::string pending;
  for (;;) {
    const std::string block = TRY(read_at(file.get(), from, kReadBytes));
    if (block.empty()) return pending;
    from += block.size();
    pending += block;
    if (TRY(visit_lines(pending, visit)) == Visit::Stop) return std::string();
    if (pending.size() > kMostLineBytes)
      return failure(ErrorCode::Corrupt, fmt::format("{}: a line without an end", path.native()));
  }
}

Result<std::uint64_t> place_before(const fs::path& path, std::uint64_t id) {
  const UniqueFd file = TRY(open_file(path, O_RDONLY));
  const off_t end = ::lseek(file.get(), 0, SEEK_END);
  if (end < 0) return syscall_failure("seek", path.native());
  std::uint64_t low = 0;
  auto high = static_cast<std::uint64_t>(end);
  while (high - low > kNearBytes) {
    const std::uint64_t middle = low + (high - low) / 2;
    const LineStart found = TRY(next_line(file.get(), middle));
    const bool is_last = found.at == 0 || found.at >= high;
    if (!is_last && found.id == 0) return 0;
    if (!is_last && found.id <= id) {
      low = found.at;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace nutshell::audit
