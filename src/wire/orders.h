// Orders that init gets after its start, from the process that made its sandbox.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wire/codec.h"

namespace nutshell::wire {

// For a sandbox that was made ahead, when a caller takes it: one packet on init's control socket,
// which carries the first connection, too.
struct Orders {
  std::uint64_t ttl_ms = 0;
  std::uint64_t idle_ms = 0;
  std::vector<std::string> environment;
  std::string working_directory;
  std::uint8_t ends_with_connection = 0;  // the sandbox ends with its last connection
  void fields(auto& visit) {
    visit(ttl_ms, idle_ms, environment, working_directory, ends_with_connection);
  }
};

// For init as the first process of a container: comes on its standard input, which then is, with
// its standard output, the first connection.
struct ContainerOrders {
  std::uint64_t ttl_ms = 0;
  std::uint64_t idle_ms = 0;
  std::vector<std::string> environment;
  std::string working_directory;
  std::string store;                      // a directory for kept states; empty: there is none
  std::uint8_t base_follows = 0;          // next, send_tree() sends the content of /workspace
  std::uint8_t ends_with_connection = 0;  // the sandbox ends with that first connection
  // The sandbox ends if the first connection ends before a release() came on it: its maker died,
  // and no other process knows its id.
  std::uint8_t awaits_release = 0;
  std::uint64_t watched_memory_bytes = 0;
  std::uint32_t watched_millicpus = 0;
  std::uint64_t open_files = 0;     // of every process; zero: as it is
  std::uint8_t has_own_kernel = 0;  // its kernel's counts are of this sandbox alone: gVisor
  std::uint8_t has_network = 0;     // its commands may connect, by a network policy
  void fields(auto& visit) {
    visit(ttl_ms, idle_ms, environment, working_directory, store, base_follows,
          ends_with_connection, awaits_release, watched_memory_bytes, watched_millicpus, open_files,
          has_own_kernel, has_network);
  }
};

inline constexpr std::size_t kMostOrderBytes = 4U << 20U;

// Encodes the orders behind four bytes with their length.
inline std::string frame_orders(const ContainerOrders& orders) {
  const std::string body = encode(orders);
  const auto size = static_cast<std::uint32_t>(body.size());
  std::string framed(reinterpret_cast<const char*>(&size),
                     sizeof size);  // little-endian hosts only
  return framed + body;
}

}  // namespace nutshell::wire
