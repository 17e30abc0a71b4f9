#include "wire/start_report.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>

#include "base/file.h"

namespace nutshell::wire {
namespace {

constexpr std::string_view kDone = "copied";
constexpr std::string_view kFailed = "not copied: ";  // and a letter for the code, and the message
constexpr char kRelease = 'k';
constexpr std::string_view kReleased = "kept";
constexpr char kFirstCode = 'A';
constexpr std::size_t kMostBytes = 1024;

// Reads one line and no byte more; nullopt if the stream has ended.
Result<std::string> take_piece(int stream, std::size_t most) {
  std::array<char, kMostBytes> space{};
  const ssize_t seen = ::recv(stream, space.data(), most, MSG_PEEK | MSG_DONTWAIT);
  if (seen < 0 && (errno == ECONNRESET)) return std::string();
  if (seen < 0) return syscall_failure("read", "init's first line");
  const char* const end = std::find(space.data(), space.data() + seen, '\n');
  const auto count = std::min<std::size_t>(static_cast<std::size_t>(end - space.data()) + 1,
                                           static_cast<std::size_t>(seen));
  const ssize_t taken = ::recv(stream, space.data(), count, MSG_DONTWAIT);
  return std::string(space.data(), static_cast<std::size_t>(std::max<ssize_t>(taken, 0)));
}

Result<std::string> take_line(int stream, const Deadline& deadline) {
  std::string line;
  while (!line.ends_with('\n')) {
    if (!TRY(wait_for(stream, POLLIN, deadline)))
      return failure(ErrorCode::DeadlineExceeded, "init does not get ready in time");
    const std::string piece = TRY(take_piece(stream, kMostBytes - line.size()));
    if (piece.empty())
      return failure(ErrorCode::Unavailable, "the sandbox ended before it was done");
    line += piece;
    if (line.size() == kMostBytes && !line.ends_with('\n'))
      return failure(ErrorCode::Corrupt, "the other side is not an init");
  }
  line.pop_back();
  return line;
}

Result<> await_report(int stream, const Deadline& deadline) {
  const std::string line = TRY(take_line(stream, deadline));
  if (line == kDone) return {};
  if (!line.starts_with(kFailed) || line.size() == kFailed.size())
    return failure(ErrorCode::Corrupt, "the other side is not an init");
  const auto number = static_cast<std::uint8_t>(line[kFailed.size()] - kFirstCode);
  return failure(to_error_code(number), line.substr(kFailed.size() + 1));
}

}  // namespace

Result<> report_copy(int stream, const Result<>& copied) {
  std::string line(kDone);
  if (!copied) {
    line = kFailed;
    line += static_cast<char>(kFirstCode + static_cast<int>(copied.error().code));
    line += copied.error().message.substr(0, kMostBytes - line.size() - 1);
  }
  std::replace(line.begin(), line.end(), '\n', ' ');
  return write_all(stream, line + '\n');
}

Result<> await_copy(int stream, const Deadline& deadline) {
  auto done = await_report(stream, deadline);
  if (done) return {};
  if (done.error().code != ErrorCode::ResourceExhausted)
    return while_doing("copy the workspace", std::move(done).error());
  return failure(ErrorCode::ResourceExhausted,
                 "copy the workspace: " + done.error().message +
                     "; raise --disk and --memory, or take a smaller directory");
}

Result<> release(int stream, const Deadline& deadline) {
  if (::send(stream, &kRelease, 1, MSG_NOSIGNAL) != 1)
    return syscall_failure("release the sandbox");
  auto heard = take_line(stream, deadline);
  if (!heard) return while_doing("release the sandbox", std::move(heard).error());
  if (*heard == kReleased) return {};
  return failure(ErrorCode::Corrupt, "the other side is not an init");
}

Result<> await_release(int input, int output, const Deadline& deadline) {
  char byte = 0;
  for (;;) {
    if (!TRY(wait_for(input, POLLIN, deadline)))
      return failure(ErrorCode::DeadlineExceeded, "the maker of this sandbox does not release it");
    const ssize_t count = ::read(input, &byte, 1);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count <= 0)
      return failure(ErrorCode::Unavailable, "the maker of this sandbox died before it was done");
    break;
  }
  if (byte != kRelease) return failure(ErrorCode::Corrupt, "the other side is not our maker");
  return write_all(output, std::string(kReleased) + '\n');
}

}  // namespace nutshell::wire
