// Unix sockets that carry bytes and descriptors.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace nutshell {

enum class SocketKind { Stream, Packets };

Result<std::pair<UniqueFd, UniqueFd>> make_socket_pair(SocketKind kind);

// An address holds 107 bytes of path; a longer path is reached through its directory's descriptor.
Result<UniqueFd> listen_on(const std::filesystem::path& path, SocketKind kind);
Result<UniqueFd> connect_to(const std::filesystem::path& path, SocketKind kind);
Result<UniqueFd> accept_from(int listener);

struct Peer {
  std::uint32_t user = 0;
  std::uint32_t group = 0;
  int process = 0;
};
Result<Peer> peer_of(int socket);

// One packet and the descriptors that came with it. An empty packet without descriptors means
// the other side is gone.
struct Packet {
  std::string bytes;
  std::vector<UniqueFd> descriptors;
};

inline constexpr std::size_t kMostPacketBytes = 128U << 10U;
inline constexpr std::size_t kMostPacketDescriptors = 8;

Result<> send_packet(int socket, std::string_view bytes, const std::vector<int>& descriptors = {});
// Never waits: false if the receiver has not read enough to make room for this packet.
Result<bool> try_send_packet(int socket, std::string_view bytes,
                             const std::vector<int>& descriptors = {});
Result<Packet> receive_packet(int socket, const Deadline& deadline);

}  // namespace nutshell
