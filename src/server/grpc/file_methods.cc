// What moves bytes: files in and out, and the stream to a sandbox's init.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <charconv>

#include "base/file.h"
#include "nutshell/v1/nutshell.pb.h"
#include "server/grpc/methods.h"
#include "service/execs/init_streams.h"
#include "service/sandboxes/sandbox_files.h"

namespace nutshell::server {
namespace {

constexpr std::size_t kPieceBytes = 64U << 10U;
constexpr auto kStallTime = std::chrono::seconds(30);

Result<> check_place(const std::string& id, const std::string& path) {
  if (id.empty()) return failure(ErrorCode::InvalidArgument, "the field 'id' is missing");
  if (path.empty()) return failure(ErrorCode::InvalidArgument, "the field 'path' is missing");
  return {};
}

Result<> read_file(RpcCall& call) {
  const auto& wanted = static_cast<const v1::ReadFileRequest&>(call.request);
  TRY(check_place(wanted.id(), wanted.path()));
  const wire::FileInfo info =
      TRY(call.service.files().stat(call.caller, wanted.id(), wanted.path()));
  if (info.kind == wire::FileKind::Directory) {
    return failure(ErrorCode::InvalidArgument, fmt::format("{} is a directory", wanted.path()));
  }
  const auto size = static_cast<std::int64_t>(info.size);
  const std::int64_t offset = wanted.offset();
  if (offset < 0 || offset > size || wanted.length() < 0) {
    return failure(ErrorCode::InvalidArgument, "the file does not have this range");
  }
  const std::int64_t left = size - offset;
  const std::int64_t length = wanted.has_length() ? std::min(wanted.length(), left) : left;
  if (length == 0) return {};
  wire::ReadFile request;
  request.path = wanted.path();
  request.offset = static_cast<std::uint64_t>(offset);
  request.length = static_cast<std::uint64_t>(length);
  return call.service.files().read(call.caller, wanted.id(), request, [&](std::string_view bytes) {
    v1::FilePiece piece;
    piece.set_data(bytes.data(), bytes.size());
    return call.rpc.write(piece);
  });
}

Result<std::uint32_t> mode_of(const std::string& text) {
  std::uint32_t mode = 0;
  const char* end = text.data() + text.size();
  const auto [place, error] = std::from_chars(text.data(), end, mode, 8);
  if (error != std::errc() || place != end || mode > 0777) {
    return failure(ErrorCode::InvalidArgument, "the field 'mode' must be like 0644");
  }
  return mode;
}

// The client's messages as a source of bytes. One that is gone before its end leaves no file.
class Upload {
 public:
  Upload(Rpc& rpc, std::string first) : rpc_(rpc), held_(std::move(first)) {}

  Result<std::string> take(std::size_t most) {
    while (held_.empty()) {
      v1::WriteFileRequest message;
      const auto next = TRY(rpc_.read(message, Deadline::in(kStallTime)));
      if (next == Rpc::Next::Ended) return std::string();
      if (next == Rpc::Next::Nothing) {
        return failure(ErrorCode::DeadlineExceeded, "the client sends nothing");
      }
      held_ = std::move(*message.mutable_data());
    }
    std::string piece = held_.substr(0, most);
    held_.erase(0, piece.size());
    return piece;
  }

 private:
  Rpc& rpc_;
  std::string held_;
};

Result<> write_file(RpcCall& call) {
  const auto& first = static_cast<const v1::WriteFileRequest&>(call.request);
  TRY(check_place(first.id(), first.path()));
  wire::WriteFile request;
  request.path = first.path();
  if (first.has_mode()) request.mode = TRY(mode_of(first.mode()));
  Upload upload(call.rpc, first.data());
  return call.service.files().write(call.caller, first.id(), request,
                                    [&](std::size_t most) { return upload.take(most); });
}

Result<> send_to(int stream, std::string_view bytes) {
  const Deadline deadline = Deadline::in(kStallTime);
  while (!bytes.empty()) {
    const ssize_t count = ::send(stream, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(count));
      continue;
    }
    if (errno != EAGAIN && errno != EINTR) return syscall_failure("send");
    pollfd watched{stream, POLLOUT, 0};
    if (::poll(&watched, 1, deadline.poll_timeout()) == 0) {
      return failure(ErrorCode::DeadlineExceeded, "the sandbox takes nothing");
    }
  }
  return {};
}

Result<> send_to_client(RpcCall& call, std::string bytes) {
  if (bytes.empty()) return {};
  v1::StreamPiece piece;
  piece.set_data(std::move(bytes));
  return call.rpc.write(piece);
}

// What the service lets through of a client's bytes, and answers in the sandbox's place.
Result<> pass_in(RpcCall& call, service::InitStream& stream, std::string_view bytes) {
  auto passed = TRY(stream.meter.from_client(bytes));
  TRY(send_to(stream.descriptor.get(), passed.to_init));
  return send_to_client(call, std::move(passed.to_client));
}

// False: the sandbox's side has ended.
Result<bool> carry_out(RpcCall& call, service::InitStream& stream) {
  std::string space(kPieceBytes, '\0');
  const ssize_t count = ::recv(stream.descriptor.get(), space.data(), space.size(), MSG_DONTWAIT);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  if (count == 0) return false;
  auto passed = TRY(stream.meter.from_init({space.data(), static_cast<std::size_t>(count)}));
  TRY(send_to_client(call, std::move(passed.to_client)));
  return true;
}

// False: the client's side has ended.
Result<bool> carry_in(RpcCall& call, service::InitStream& stream) {
  v1::StreamPiece piece;
  const auto next = TRY(call.rpc.read(piece, Deadline::in(std::chrono::seconds(0))));
  if (next == Rpc::Next::Message) TRY(pass_in(call, stream, piece.data()));
  return next != Rpc::Next::Ended;
}

Result<> relay(RpcCall& call, service::InitStream& stream) {
  bool is_sending = true;
  for (;;) {
    const int input = is_sending ? call.rpc.input_descriptor() : call.rpc.gone_descriptor();
    std::array<pollfd, 2> watched = {pollfd{stream.descriptor.get(), POLLIN, 0},
                                     pollfd{input, POLLIN, 0}};
    if (::poll(watched.data(), watched.size(), -1) < 0 && errno != EINTR) {
      return syscall_failure("poll");
    }
    if (call.rpc.is_gone()) return failure(ErrorCode::Cancelled, "the client is gone");
    if (watched[1].revents != 0 && is_sending) {
      is_sending = TRY(carry_in(call, stream));
      if (!is_sending) ::shutdown(stream.descriptor.get(), SHUT_WR);
    }
    if (watched[0].revents != 0 && !TRY(carry_out(call, stream))) return {};
  }
}

Result<> open_stream(RpcCall& call) {
  const auto& first = static_cast<const v1::StreamPiece&>(call.request);
  if (first.id().empty()) return failure(ErrorCode::InvalidArgument, "the field 'id' is missing");
  const auto stream = TRY(call.service.streams().open(call.caller, first.id()));
  TRY(pass_in(call, *stream, first.data()));
  return relay(call, *stream);
}

}  // namespace

std::vector<Method> file_methods() {
  return {{"ReadFile", read_file}, {"WriteFile", write_file}, {"OpenStream", open_stream}};
}

}  // namespace nutshell::server
