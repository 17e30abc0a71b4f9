#include "base/descriptor_message.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace nutshell {
namespace {

struct alignas(cmsghdr) Control {
  std::array<char, CMSG_SPACE(sizeof(int) * kMostMessageDescriptors)> bytes;
};

void take_descriptors(msghdr& message, std::vector<UniqueFd>& descriptors) {
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(header) + i * sizeof(int), sizeof number);
      descriptors.emplace_back(number);
    }
  }
}

}  // namespace

ssize_t send_with_descriptors(int socket, std::string_view bytes, std::span<const int> descriptors,
                              int flags) noexcept {
  if (descriptors.size() > kMostMessageDescriptors) {
    errno = EINVAL;
    return -1;
  }
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  Control control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    message.msg_control = control.bytes.data();
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
  }
  return ::sendmsg(socket, &message, flags | MSG_NOSIGNAL);
}

ssize_t receive_with_descriptors(int socket, std::span<char> space, int flags,
                                 std::vector<UniqueFd>& descriptors, Arrived* arrived) {
  iovec part{space.data(), space.size()};
  Control control;
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes.data();
  message.msg_controllen = control.bytes.size();
  const ssize_t count = ::recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);
  if (count < 0) return count;
  take_descriptors(message, descriptors);
  const bool is_cut = (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0;
  if (arrived != nullptr) *arrived = is_cut ? Arrived::Cut : Arrived::Whole;
  return count;
}

ssize_t receive_with_descriptor(int socket, std::span<char> space, int flags,
                                UniqueFd& descriptor) {
  std::vector<UniqueFd> descriptors;
  const ssize_t count = receive_with_descriptors(socket, space, flags, descriptors);
  if (!descriptors.empty()) descriptor.reset();
  if (descriptors.size() == 1) descriptor = std::move(descriptors.front());
  return count;
}

}  // namespace nutshell
