// Makes plain sockets of the streams that an engine hands over: a thread for each carries the bytes
// until either side ends. Not thread-safe itself; destroying it ends every stream.
#pragma once

#include <atomic>
#include <list>
#include <memory>
#include <thread>

#include "backends/docker/demux_transport.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "http/client.h"

namespace nutshell::docker {

class StreamBridges {
 public:
  StreamBridges() = default;
  StreamBridges(const StreamBridges&) = delete;
  StreamBridges& operator=(const StreamBridges&) = delete;
  ~StreamBridges();

  Result<UniqueFd> add(http::Client::Upgraded upgraded);
  void drop_finished();

 private:
  struct Bridge {
    std::unique_ptr<DemuxTransport> transport;
    UniqueFd stream;  // our end
    std::atomic<bool> is_over{false};
    std::thread thread;
  };

  std::list<Bridge> bridges_;
};

}  // namespace nutshell::docker
