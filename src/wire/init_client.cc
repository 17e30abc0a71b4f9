#include "wire/init_client.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/random_id.h"
#include "wire/exec_loop.h"

namespace nutshell::wire {
namespace {

using namespace std::chrono_literals;

constexpr auto kFileTime = 60s;  // for any one step of a file operation
constexpr std::uint32_t kMostDepth = 256;

}  // namespace

Result<ExecResult> InitClient::exec(const ExecRequest& request, ExecIo& io) {
  return exec_named(random_id(16), request, io);
}

Result<ExecResult> InitClient::exec_named(const std::string& exec_id, const ExecRequest& request,
                                          ExecIo& io) {
  const std::uint32_t conversation = channel_.new_conversation();
  channel_.queue(conversation, Exec{exec_id, request, kWindow});
  return ExecLoop(channel_, conversation, io, ExecBounds::of(request.limits)).run();
}

Result<ExecResult> InitClient::attach(const Attach& attach, const ExecLimits& limits, ExecIo& io) {
  const std::uint32_t conversation = channel_.new_conversation();
  channel_.queue(conversation, attach);
  ExecLoop loop(channel_, conversation, io, ExecBounds::of(limits));
  loop.start_at(attach.output_offset, attach.error_offset);
  return loop.run();
}

Result<Frame> InitClient::receive_for(std::uint32_t conversation) {
  return receive_for(conversation, Deadline::in(kFileTime));
}

Result<Frame> InitClient::receive_for(std::uint32_t conversation, const Deadline& deadline) {
  for (;;) {
    const Frame frame = TRY(channel_.receive(deadline));
    if (frame.conversation == conversation) {
      if (frame.type == MessageType::Failed) return decode_failure(frame);
      return frame;
    }
    // Otherwise an init that sends frames faster than they are read would hold the caller for ever.
    if (deadline.has_passed()) {
      return failure(ErrorCode::DeadlineExceeded, "init does not answer");
    }
  }
}

Result<> InitClient::ping(const Deadline& deadline) {
  const std::uint32_t conversation = channel_.new_conversation();
  channel_.queue(conversation, Ping{});
  return expect_done(TRY(receive_for(conversation, deadline)));
}

Result<> InitClient::wait_done(std::uint32_t conversation) {
  return expect_done(TRY(receive_for(conversation)));
}

Result<> InitClient::expect_done(const Frame& frame) {
  if (frame.type != MessageType::Done)
    return failure(ErrorCode::Corrupt, "init sent another message than the expected answer");
  return {};
}

Result<FileInfo> InitClient::stat(const std::string& path) {
  const std::uint32_t conversation = channel_.new_conversation();
  channel_.queue(conversation, Stat{path, 0});
  return decode<FileInfo>(TRY(receive_for(conversation)).payload);
}

Result<FileInfo> InitClient::stat_target(const std::string& path) {
  const std::uint32_t conversation = channel_.new_conversation();
  channel_.queue(conversation, Stat{path, 1});
  return decode<FileInfo>(TRY(receive_for(conversation)).payload);
}

Result<> InitClient::read_file(const ReadFile& request, const Sink& sink) {
  const std::uint32_t conversation = channel_.new_conversation();
  ReadFile with_window = request;
  with_window.window = kWindow;
  channel_.queue(conversation, with_window);
  bool is_described = false;
  std::uint64_t received = 0;
  for (;;) {
    const Frame frame = TRY(receive_for(conversation));
    if (frame.type == MessageType::Done) return {};
    if (frame.type == MessageType::FileInfo && !std::exchange(is_described, true)) continue;
    const auto data = TRY(decode<FileData>(frame.payload));
    if (data.bytes.empty()) return failure(ErrorCode::Corrupt, "a part of a file without bytes");
    received += data.bytes.size();
    if (received > request.length) return failure(ErrorCode::Corrupt, "more bytes than asked for");
    TRY(sink(data.bytes));
    channel_.queue(conversation, Consumed{Stream::Output, received});
  }
}

// The answer comes after the last byte, or earlier if it is a refusal.
Result<Frame> InitClient::send_content(std::uint32_t conversation, const Source& source) {
  std::uint64_t sent = 0;
  std::uint64_t consumed = 0;
  for (bool is_ended = false;;) {
    while (!is_ended && sent - consumed < kInputWindow) {
      std::string bytes = TRY(source(kMostData));
      is_ended = bytes.empty();
      sent += bytes.size();
      if (is_ended) {
        channel_.queue(conversation, FileEnd{});
      } else {
        channel_.queue(conversation, FileData{std::move(bytes)});
      }
    }
    Frame frame = TRY(receive_for(conversation));
    if (frame.type != MessageType::InputConsumed) {
      if (is_ended || frame.type == MessageType::Refused) return frame;
      return failure(ErrorCode::Corrupt, "an answer before the end of the file");
    }
    const std::uint64_t offset = TRY(decode<InputConsumed>(frame.payload)).offset;
    if (offset <= consumed || offset > sent) return failure(ErrorCode::Corrupt, "no progress");
    consumed = offset;
  }
}

Result<> InitClient::write_file(const WriteFile& request, const Source& source) {
  const std::uint32_t conversation = channel_.new_conversation();
  channel_.queue(conversation, request);
  const Frame answer = TRY(send_content(conversation, source));
  if (answer.type != MessageType::Done)
    return failure(ErrorCode::Corrupt, "init sent another message than the expected answer");
  return {};
}

Result<Answer<Changed>> InitClient::put_file(const PutFile& request, const Source& source) {
  const std::uint32_t conversation = channel_.new_conversation();
  channel_.queue(conversation, request);
  return decode_answer<Changed>(TRY(send_content(conversation, source)));
}

Result<> InitClient::list_changes(const ChangeVisitor& visit) {
  const std::uint32_t conversation = channel_.new_conversation();
  channel_.queue(conversation, ListChanges{kWindow});
  std::uint64_t received = 0;
  for (;;) {
    const Frame frame = TRY(receive_for(conversation));
    if (frame.type == MessageType::Done) return {};
    received += kHeaderBytes + frame.payload.size();
    const auto batch = TRY(decode<Changes>(frame.payload));
    if (batch.changes.empty()) return failure(ErrorCode::Corrupt, "a part without changes");
    for (const FileChange& change : batch.changes)
      TRY(visit(change));
    channel_.queue(conversation, Consumed{Stream::Output, received});
  }
}

Result<> InitClient::walk(const std::string& path, const Visitor& visit) {
  const std::uint32_t conversation = channel_.new_conversation();
  channel_.queue(conversation, Walk{path, kMostDepth, kWindow});
  std::uint64_t received = 0;
  for (;;) {
    const Frame frame = TRY(receive_for(conversation));
    if (frame.type == MessageType::Done) return {};
    received += kHeaderBytes + frame.payload.size();
    const auto batch = TRY(decode<Entries>(frame.payload));
    if (batch.entries.empty())
      return failure(ErrorCode::Corrupt, "a part of a walk without entries");
    for (const FileInfo& entry : batch.entries)
      TRY(visit(entry));
    channel_.queue(conversation, Consumed{Stream::Output, received});
  }
}

}  // namespace nutshell::wire
