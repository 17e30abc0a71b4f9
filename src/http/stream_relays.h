// Turns transports (TLS, or framed streams of a container engine) into plain sockets. A thread for
// each carries the bytes until either side ends, and then frees everything the stream had.
// Thread-safe; the destructor ends every stream.
#pragma once

#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>

#include "base/result.h"
#include "base/unique_fd.h"
#include "http/transport.h"

namespace nutshell::http {

class StreamRelays {
 public:
  StreamRelays() : open_(std::make_shared<Open>()) {}
  StreamRelays(const StreamRelays&) = delete;
  StreamRelays& operator=(const StreamRelays&) = delete;
  ~StreamRelays();

  // Returns a socket that carries the bytes of `transport`.
  Result<UniqueFd> add(std::unique_ptr<Transport> transport);
  [[nodiscard]] std::size_t count() const;

 private:
  struct Stream {
    std::unique_ptr<Transport> transport;
    UniqueFd socket;  // our end of the pair
  };
  struct Open {
    std::mutex mutex;
    std::condition_variable changed;
    std::list<Stream> streams;
  };
  static void carry(Open& open, std::list<Stream>::iterator stream);

  // Shared with the threads: the last one may still hold the mutex when the destructor goes on.
  std::shared_ptr<Open> open_;
};

}  // namespace nutshell::http
