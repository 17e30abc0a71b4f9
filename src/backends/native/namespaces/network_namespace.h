// A network namespace with nothing in it but a loopback interface that is up.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <memory>

#include "backends/native/processes/kept_descriptors.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace nutshell::native {

class NetworkNamespace {
 public:
  // Made on the side: the calling process is back in `home`, its own, when this returns.
  static Result<NetworkNamespace> create(const UniqueFd& home);

  [[nodiscard]] int descriptor() const { return namespace_.get(); }
  Result<> renumber(int least) { return native::renumber(namespace_, least); }
  // For a namespace that is used for long: is_clean() opens the counters again.
  void close_counters() { counters_ = {}; }

  // Whether the last sandbox left no trace: no socket, not even one waiting to time out, and all
  // counters as they were when the namespace was made. The kernel resets no counter, so a namespace
  // through which a single packet went is never clean again. Needs `home` as create() does.
  [[nodiscard]] Result<bool> is_clean(const UniqueFd& home);

 private:
  NetworkNamespace() = default;
  Result<> open_counters();
  [[nodiscard]] Result<std::size_t> hash_counters() const;

  UniqueFd namespace_;
  std::size_t first_counters_ = 0;  // a hash of all counters of the new namespace
  // The kernel's counts of this namespace, wherever they are read from. Kept open, because the
  // kernel then remembers how large a text is, and does not write it twice.
  std::array<UniqueFd, 4> counters_;
  UniqueFd sockets_;
};

Result<UniqueFd> open_own_network_namespace();

// Makes one while the caller goes on with other work: it is the slowest piece of a sandbox. The
// caller's own network stays as it is, also where it could not come back.
class NetworkMaker {
 public:
  static Result<NetworkMaker> start();
  NetworkMaker(NetworkMaker&& other) noexcept;
  NetworkMaker& operator=(NetworkMaker&&) = delete;
  ~NetworkMaker();

  // Waits until it is made. Once.
  Result<UniqueFd> take();

 private:
  struct Work;
  explicit NetworkMaker(std::unique_ptr<Work> work);
  void wait();

  std::unique_ptr<Work> work_;
  pid_t child_ = -1;  // -1 once reaped or moved from
};

// For a process that is in its network namespace for good.
Result<> bring_loopback_up();

}  // namespace nutshell::native
