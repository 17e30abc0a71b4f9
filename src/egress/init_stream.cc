#include "egress/init_stream.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <vector>

#include "base/descriptor_message.h"
#include "wire/network_schema.h"

namespace nutshell::egress {

InitStream::InitStream(UniqueFd stream, Descriptors descriptors)
    : stream_(std::move(stream)), descriptors_pass_(descriptors) {
  wire::append_frame(outgoing_, 0, wire::Hello{});
  wire::append_frame(outgoing_, kOrder, wire::UseNetwork{});
}

Result<> InitStream::send_some() {
  while (queued() > 0) {
    const ssize_t count =
        ::send(stream_.get(), outgoing_.data() + sent_, queued(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) break;
    if (count < 0) return syscall_failure("send to init");
    sent_ += static_cast<std::size_t>(count);
  }
  if (sent_ == outgoing_.size()) {
    outgoing_.clear();
    sent_ = 0;
  } else if (sent_ > outgoing_.size() / 2) {
    outgoing_.erase(0, sent_);
    sent_ = 0;
  }
  return {};
}

Result<bool> InitStream::receive_some() {
  const auto [space, size] = reader_.space();
  std::vector<UniqueFd> came;
  const ssize_t count = receive_with_descriptors(stream_.get(), {space, size}, MSG_DONTWAIT, came);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (count < 0 && errno != ECONNRESET) return syscall_failure("receive from init");
  if (count <= 0) return false;
  std::move(came.begin(), came.end(), std::back_inserter(descriptors_));
  if (descriptors_.size() > kMostDescriptors)
    return failure(ErrorCode::Corrupt, "init sent descriptors that nobody asked for");
  reader_.filled(static_cast<std::size_t>(count));
  return true;
}

Result<std::optional<wire::Frame>> InitStream::next_frame() {
  for (;;) {
    auto frame = TRY(reader_.next());
    if (!frame) return frame;
    if (!has_greeting_) {
      const auto hello = frame->type == wire::MessageType::Hello
                             ? TRY(wire::decode<wire::Hello>(frame->payload))
                             : wire::Hello{0, 0};
      if (hello.magic != wire::kMagic || hello.version != wire::kVersion)
        return failure(ErrorCode::Corrupt, "the other side is not an init of this version");
      has_greeting_ = true;
      continue;
    }
    if (frame->conversation == kOrder && frame->type == wire::MessageType::Failed) {
      const auto failed = TRY(wire::decode<wire::Failed>(frame->payload));
      return failure(failed.code, failed.message);
    }
    if (frame->conversation == kOrder && frame->type == wire::MessageType::Done) continue;
    if (frame->conversation != kConversation)
      return failure(ErrorCode::Corrupt, "init began a conversation by itself");
    return frame;
  }
}

UniqueFd InitStream::take_descriptor() {
  if (descriptors_.empty()) return {};
  UniqueFd first = std::move(descriptors_.front());
  descriptors_.pop_front();
  return first;
}

}  // namespace nutshell::egress
