// Sends and receives single messages over a stream socket between programs of one user: the length
// in four bytes, then the message. A descriptor may come with it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/deadline.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "wire/codec.h"

namespace nutshell::wire {

inline constexpr std::size_t kMostMessageBytes = 16U << 20U;

Result<> send_bytes(int socket, std::string_view bytes, const Deadline& deadline,
                    int descriptor = -1);

struct ReceivedBytes {
  std::string bytes;
  UniqueFd descriptor;  // not open: none came
};
// Unavailable: the other side has closed the socket. DeadlineExceeded: it sent no whole message in
// time.
Result<ReceivedBytes> receive_bytes(int socket, const Deadline& deadline);

template <typename Message>
Result<> send_message(int socket, const Message& message, const Deadline& deadline,
                      int descriptor = -1) {
  return send_bytes(socket, encode(message), deadline, descriptor);
}

template <typename Message>
Result<Message> receive_message(int socket, const Deadline& deadline) {
  return decode<Message>(TRY(receive_bytes(socket, deadline)).bytes);
}

}  // namespace nutshell::wire
