// Messages over Unix sockets that carry descriptors.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"

namespace nutshell {

inline constexpr std::size_t kMostMessageDescriptors = 8;

// Each function makes one sendmsg(2) or recvmsg(2), with its flags and MSG_NOSIGNAL or
// MSG_CMSG_CLOEXEC, and returns what that call returns: the number of bytes, or -1 and errno.

// Allocates nothing: it may be called between fork and exec. More than kMostMessageDescriptors are
// refused with EINVAL.
ssize_t send_with_descriptors(int socket, std::string_view bytes, std::span<const int> descriptors,
                              int flags) noexcept;

enum class Arrived { Whole, Cut };  // Cut: by the space, or by kMostMessageDescriptors
// Appends the descriptors that came.
ssize_t receive_with_descriptors(int socket, std::span<char> space, int flags,
                                 std::vector<UniqueFd>& descriptors, Arrived* arrived = nullptr);
// For a protocol of one descriptor: keeps `descriptor` if none came, and closes all if several did.
ssize_t receive_with_descriptor(int socket, std::span<char> space, int flags, UniqueFd& descriptor);

}  // namespace nutshell
