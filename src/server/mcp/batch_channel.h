// The answers to a batch, as the one message they are to be. Thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "server/mcp/channel.h"

namespace nutshell::mcp {

class BatchChannel : public Channel {
 public:
  // Shared: it goes on as long as one of its calls runs.
  BatchChannel(std::shared_ptr<Channel> below, std::size_t answers)
      : below_(std::move(below)), missing_(answers) {}

  void send(std::string_view message) override { below_->send(message); }
  void respond(std::string_view message, int error_code) override;
  void abandon() override { respond({}, 0); }

 private:
  std::shared_ptr<Channel> below_;
  std::mutex mutex_;
  std::size_t missing_;
  std::string answers_;
};

}  // namespace nutshell::mcp
