// Runs commands and reads and writes files in a sandbox, over a stream to its init.
// Not thread-safe; a sandbox may have several clients.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "core/exec.h"
#include "wire/channel.h"
#include "wire/exec_io.h"
#include "wire/tool_schema.h"

namespace nutshell::wire {

// Init's answer to a tool: the reply, or a refusal in words for a model.
template <typename Reply>
using Answer = std::variant<Reply, Refused>;

class InitClient {
 public:
  explicit InitClient(UniqueFd stream) : channel_(std::move(stream)) {}

  // Runs the command to its end. Returns a result even if the sandbox is lost meanwhile, and an
  // error only if the command could not be started.
  Result<ExecResult> exec(const ExecRequest& request, ExecIo& io);

  // Follows an exec with OnDisconnect::Keep, which another client began, from these offsets on.
  Result<ExecResult> exec_named(const std::string& exec_id, const ExecRequest& request, ExecIo& io);
  Result<ExecResult> attach(const Attach& attach, const ExecLimits& limits, ExecIo& io);

  using Sink = std::function<Result<>(std::string_view)>;
  // Returns at most `most` bytes; empty at the end.
  using Source = std::function<Result<std::string>(std::size_t most)>;
  using Visitor = std::function<Result<>(const FileInfo&)>;

  Result<FileInfo> stat(const std::string& path);         // the entry itself, also if a link
  Result<FileInfo> stat_target(const std::string& path);  // what a link leads to
  Result<> read_file(const ReadFile& request, const Sink& sink);
  Result<> write_file(const WriteFile& request, const Source& source);
  Result<> walk(const std::string& path, const Visitor& visit);
  Result<> make_directory(const MakeDirectory& request) { return ask(request); }
  Result<> make_link(const MakeLink& request) { return ask(request); }
  Result<> suspend() { return ask(Suspend{}); }
  Result<> resume() { return ask(Continue{}); }
  Result<> ping() { return ask(Ping{}); }
  Result<> ping(const Deadline& deadline);
  Result<> end_all(const std::string& reason) { return ask(EndAll{reason}); }

  // Sends a request of tool_schema.h that has one reply.
  template <typename Reply, typename Request>
  Result<Answer<Reply>> call(Request request) {
    const std::uint32_t conversation = channel_.new_conversation();
    channel_.queue(conversation, std::move(request));
    return decode_answer<Reply>(TRY(receive_for(conversation)));
  }
  Result<Answer<Changed>> put_file(const PutFile& request, const Source& source);
  using ChangeVisitor = std::function<Result<>(const FileChange&)>;
  Result<> list_changes(const ChangeVisitor& visit);
  Result<> use_layers(const UseLayers& request) { return ask(request); }

  // For conversations that this class does not know; the caller holds them between its calls.
  [[nodiscard]] Channel& channel() { return channel_; }

 private:
  template <typename Message>
  Result<> ask(Message message) {
    const std::uint32_t conversation = channel_.new_conversation();
    channel_.queue(conversation, std::move(message));
    return wait_done(conversation);
  }
  template <typename Reply>
  static Result<Answer<Reply>> decode_answer(const Frame& frame) {
    if (frame.type == MessageType::Refused) return TRY(decode<Refused>(frame.payload));
    if (frame.type != Reply::kType)
      return failure(ErrorCode::Corrupt, "init sent another message than the expected answer");
    return TRY(decode<Reply>(frame.payload));
  }
  Result<> wait_done(std::uint32_t conversation);
  static Result<> expect_done(const Frame& frame);
  // Waits until all is consumed, or an answer comes.
  Result<Frame> send_content(std::uint32_t conversation, const Source& source);
  Result<Frame> receive_for(std::uint32_t conversation);
  Result<Frame> receive_for(std::uint32_t conversation, const Deadline& deadline);

  Channel channel_;
};

}  // namespace nutshell::wire
