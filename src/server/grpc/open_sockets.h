// Counts the sockets given to gRPC that are still open, because gRPC does not report when it closes
// one. Each is identified by its number and its inode, because numbers are reused. Thread-safe.
#pragma once

#include <sys/stat.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "base/guarded.h"
#include "http/remote.h"

namespace nutshell::server {

class OpenSockets {
 public:
  struct Bounds {
    std::size_t all = 0;
    std::size_t of_stranger = 0;  // from one address without an admitted call
  };
  explicit OpenSockets(Bounds bounds) : bounds_(bounds) {}

  // False if the most sockets are open.
  bool add(int descriptor, const http::Remote& remote) {
    const One one{inode_of(descriptor), http::source_of(remote), remote.address, false};
    return open_.with([&](Open& open) {
      if (!has_place(open, one)) forget_closed(open);
      if (one.inode == 0 || !has_place(open, one)) return false;
      open.sockets[descriptor] = one;
      open.by_address[one.address] = descriptor;
      return true;
    });
  }

  // Called when a call from this address and port was admitted.
  void know(const std::string& address) {
    open_.with([&](Open& open) {
      const auto found = open.by_address.find(address);
      if (found != open.by_address.end()) open.sockets[found->second].is_known = true;
    });
  }

 private:
  struct One {
    ino_t inode = 0;
    std::string source;
    std::string address;
    bool is_known = false;
  };
  struct Open {
    std::map<int, One> sockets;
    std::map<std::string, int> by_address;
  };

  static ino_t inode_of(int descriptor) {
    struct stat found {};
    return ::fstat(descriptor, &found) == 0 ? found.st_ino : 0;
  }
  static void forget_closed(Open& open) {
    std::erase_if(open.sockets,
                  [](const auto& one) { return inode_of(one.first) != one.second.inode; });
    std::erase_if(open.by_address, [&](const auto& one) {
      const auto found = open.sockets.find(one.second);
      return found == open.sockets.end() || found->second.address != one.first;
    });
  }
  [[nodiscard]] bool has_place(const Open& open, const One& wanted) const {
    if (open.sockets.size() >= bounds_.all) return false;
    const auto is_like_it = [&](const auto& other) {
      return !other.second.is_known && other.second.source == wanted.source;
    };
    const auto strangers = std::count_if(open.sockets.begin(), open.sockets.end(), is_like_it);
    return static_cast<std::size_t>(strangers) < bounds_.of_stranger;
  }

  const Bounds bounds_;
  Guarded<Open> open_;
};

}  // namespace nutshell::server
