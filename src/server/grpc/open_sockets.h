// Sockets that were given away, and how many of them are still open: gRPC tells nobody when it
// closes one. Each is known by its number and its inode, because numbers are used again. Of one
// thread.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <map>

namespace nutshell::server {

class OpenSockets {
 public:
  explicit OpenSockets(std::size_t most) : most_(most) {}

  // False: as many as there may be are open already.
  bool add(int descriptor) {
    if (inodes_.size() >= most_) forget_closed();
    const ino_t inode = inode_of(descriptor);
    if (inode == 0 || inodes_.size() >= most_) return false;
    inodes_[descriptor] = inode;
    return true;
  }

 private:
  static ino_t inode_of(int descriptor) {
    struct stat found {};
    return ::fstat(descriptor, &found) == 0 ? found.st_ino : 0;
  }
  void forget_closed() {
    std::erase_if(inodes_, [](const auto& one) { return inode_of(one.first) != one.second; });
  }

  const std::size_t most_;
  std::map<int, ino_t> inodes_;
};

}  // namespace nutshell::server
