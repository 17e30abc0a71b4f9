#include "images/unpack_process.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>

#include <charconv>
#include <map>
#include <vector>

#include "base/file.h"
#include "base/pipe.h"
#include "base/spawn.h"
#include "images/image_name.h"

namespace nutshell::images {
namespace {

constexpr std::size_t kMostReportBytes = 64U << 10U;
std::vector<std::string> words_of(const Unpacking& order) {
  return {"nutshell-unpack",
          "--report",
          fmt::format("--bytes={}", order.limits.bytes),
          fmt::format("--entries={}", order.limits.entries),
          fmt::format("--depth={}", order.limits.depth),
          fmt::format("--ratio={}", order.limits.ratio),
          fmt::format("--least-entries={}", order.least_entries),
          order.target.native()};
}

Result<ChildProcess> start(const Unpacking& order, int input, int output) {
  return spawn({.arguments = words_of(order),
                .program = order.program,
                .input = input,
                .output = output,
                .third = order.lock >= 0 ? order.lock : kInherited});
}

Result<Unpacked> finish(ChildProcess child, UniqueFd output) {
  const std::string text = TRY(read_all(output.get(), kMostReportBytes));
  const auto status = TRY(child.wait(Deadline::never()));
  if (text.empty() && status && WIFSIGNALED(*status)) {
    return failure(ErrorCode::Internal,
                   fmt::format("nutshell-unpack was ended by signal {}", WTERMSIG(*status)));
  }
  return read_report(text);
}

}  // namespace

Result<Unpacked> read_report(std::string_view text) {
  std::map<std::string, std::string, std::less<>> lines;
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    const std::string_view line = text.substr(0, end);
    const std::size_t space = line.find(' ');
    if (space != std::string_view::npos)
      lines.emplace(line.substr(0, space), line.substr(space + 1));
    text.remove_prefix(end + 1);
  }
  if (lines.contains("error")) return failure(ErrorCode::InvalidArgument, lines["error"]);
  Unpacked report;
  report.packed_digest = lines["packed"];
  report.unpacked_digest = lines["unpacked"];
  bool is_whole = is_digest(report.packed_digest) && is_digest(report.unpacked_digest);
  const auto count = [&](const char* name) {
    const std::string& digits = lines[name];
    std::uint64_t value = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    is_whole = is_whole && read.ec == std::errc() && !digits.empty();
    return value;
  };
  report.bytes = count("bytes");
  report.entries = count("entries");
  report.skipped = count("skipped");
  if (!is_whole) return failure(ErrorCode::Internal, "nutshell-unpack ended without a report");
  return report;
}

Result<Unpacked> unpack_file(const Unpacking& order, int input) {
  Pipe answer = TRY(make_pipe());
  ChildProcess child = TRY(start(order, input, answer.write.get()));
  answer.write.reset();
  return finish(std::move(child), std::move(answer.read));
}

Result<Unpacked> unpack_stream(const Unpacking& order, const ArchiveWriter& write) {
  Pipe bytes = TRY(make_pipe());
  Pipe answer = TRY(make_pipe());
  ChildProcess child = TRY(start(order, bytes.read.get(), answer.write.get()));
  bytes.read.reset();
  answer.write.reset();
  auto written = write(bytes.write.get());
  // If the pipe has no reader any more, the unpacker ended early, and its report tells why.
  pollfd reader{bytes.write.get(), 0, 0};
  const bool has_left = ::poll(&reader, 1, 0) == 1 && (reader.revents & POLLERR) != 0;
  bytes.write.reset();
  auto report = finish(std::move(child), std::move(answer.read));
  // Half an archive may look complete to the unpacker: its report counts only if all was written.
  if (!written && (report || !has_left)) return Failure(std::move(written).error());
  return report;
}

}  // namespace nutshell::images
