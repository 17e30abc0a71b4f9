#include "server/mcp/stdio.h"

#include <poll.h>

#include <chrono>

#include "base/file.h"
#include "server/mcp/batch_channel.h"
#include "server/mcp/line_reader.h"
#include "server/mcp/workers.h"

namespace nutshell::mcp {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMostThreads = 16;
constexpr std::size_t kMostWaiting = 4096;
constexpr auto kLastWords = 2s;

// Thread-safe: a message is a line, and lines do not mix.
class OutputChannel : public Channel {
 public:
  explicit OutputChannel(int fd) : fd_(fd) {}

  void send(std::string_view message) override {
    std::string line;
    line.reserve(message.size() + 1);
    line.append(message).push_back('\n');
    const std::lock_guard lock(mutex_);
    if (!is_broken_) is_broken_ = !write_all(fd_, line);
  }
  void respond(std::string_view message, int /*error_code*/) override { send(message); }

  [[nodiscard]] bool has_reader() const {
    pollfd watched{fd_, 0, 0};
    return ::poll(&watched, 1, 0) == 0 || (watched.revents & (POLLERR | POLLHUP)) == 0;
  }

 private:
  int fd_;
  std::mutex mutex_;
  bool is_broken_ = false;
};

class Connection {
 public:
  Connection(Server& server, const StdioEnds& ends)
      : server_(server),
        ends_(ends),
        output_(std::make_shared<OutputChannel>(ends.output)),
        session_(std::make_shared<Session>(Client{})),
        workers_(kMostThreads, kMostWaiting) {}

  Result<> serve() {
    LineReader reader(ends_.input, kMostMessageBytes);
    Result<> ended;
    while (true) {
      auto line = reader.next(ends_.interrupt);
      if (!line) ended = Failure(line.error());
      if (!line || !*line) break;
      take(**line);
    }
    finish();
    return ended;
  }

 private:
  void take(const LineReader::Line& line) {
    if (line.is_too_long) {
      const Problem problem{kInvalidRequest, "the message is too long"};
      return output_->send(error_message("null", problem));
    }
    if (line.text.find_first_not_of(" \t\r") == std::string::npos) return;
    MessageBatch batch = read_messages(line.text);
    if (!batch.is_batch) return begin(output_, std::move(batch.messages.front()));
    take_batch(std::move(batch));
  }

  // Only one revision has batches.
  void take_batch(MessageBatch batch) {
    if (session_->client().revision != "2025-03-26") {
      const Problem problem{kInvalidRequest, "this revision has no batches"};
      return output_->send(error_message("null", problem));
    }
    std::size_t answers = 0;
    for (const Message& message : batch.messages)
      if (message.kind == Message::Kind::Request || message.kind == Message::Kind::Refused)
        ++answers;
    const auto channel = std::make_shared<BatchChannel>(output_, answers);
    for (Message& message : batch.messages)
      begin(channel, std::move(message));
  }

  void begin(const std::shared_ptr<Channel>& channel, Message message) {
    const auto call = server_.begin({session_, channel, ProtocolForm::Unknown}, std::move(message));
    if (!call) return;
    if (Server::is_subscription(*call)) return server_.run(call);  // does not wait
    if (workers_.take([this, call] { server_.run(call); })) return;
    const Problem problem{kInternalError, "too many requests are waiting"};
    call->respond(error_message(call->id(), problem), problem.code);
    session_->remove(call->id());
  }

  void finish() {
    if (ends_.on_end) ends_.on_end();
    server_.end_subscriptions(*session_);
    const bool is_told = ends_.interrupt >= 0 && is_readable(ends_.interrupt);
    const auto until = Deadline::in(kLastWords);
    while (!is_told && output_->has_reader() && !until.has_passed())
      if (session_->wait_until_quiet(Deadline::in(20ms))) break;
    session_->cancel_all();
  }

  static bool is_readable(int fd) {
    pollfd watched{fd, POLLIN, 0};
    return ::poll(&watched, 1, 0) > 0;
  }

  Server& server_;
  StdioEnds ends_;
  std::shared_ptr<OutputChannel> output_;
  std::shared_ptr<Session> session_;
  Workers workers_;  // last: its threads use the others
};

}  // namespace

Result<> serve_stdio(Server& server, const StdioEnds& ends) {
  return Connection(server, ends).serve();
}

}  // namespace nutshell::mcp
