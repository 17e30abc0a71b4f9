// Turns the streams of an engine into plain sockets. A thread for each stream carries its bytes
// until the engine ends the stream or the socket is closed. Thread-safe; the destructor ends every
// stream.
#pragma once

#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>

#include "backends/docker/engine/demux_transport.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "http/client.h"

namespace nutshell::docker {

class StreamBridges {
 public:
  StreamBridges() : open_(std::make_shared<Open>()) {}
  StreamBridges(const StreamBridges&) = delete;
  StreamBridges& operator=(const StreamBridges&) = delete;
  ~StreamBridges();

  Result<UniqueFd> add(http::Client::Upgraded upgraded);
  [[nodiscard]] std::size_t count() const;

 private:
  struct Bridge {
    std::unique_ptr<DemuxTransport> transport;
    UniqueFd stream;  // our end
  };
  struct Open {
    std::mutex mutex;
    std::condition_variable changed;
    std::list<Bridge> bridges;
  };
  static void carry(Open& open, std::list<Bridge>::iterator bridge);

  // Shared with the threads: the last one may still hold the mutex when the destructor returns.
  std::shared_ptr<Open> open_;
};

}  // namespace nutshell::docker
