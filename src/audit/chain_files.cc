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
constexpr std::size_t kReadBytes = 1U << 20U;

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

Result<std::string> for_each_line(const fs::path& path, const LineVisitor& visit) {
  const UniqueFd file = TRY(open_file(path, O_RDONLY));
  std::string pending;
  std::string block(kReadBytes, '\0');
  for (;;) {
    const ssize_t count = ::read(file.get(), block.data(), block.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return syscall_failure("read", path.native());
    if (count == 0) return pending;
    pending.append(block, 0, static_cast<std::size_t>(count));
    if (TRY(visit_lines(pending, visit)) == Visit::Stop) return std::string();
    if (pending.size() > kMostLineBytes)
      return failure(ErrorCode::Corrupt, fmt::format("{}: a line without an end", path.native()));
  }
}

}  // namespace nutshell::audit
