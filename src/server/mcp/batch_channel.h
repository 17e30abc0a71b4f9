// Collects the answers to a batch and sends them as one message. Thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "server/mcp/channel.h"

namespace nutshell::mcp {

class BatchChannel : public Channel {
 public:
  // Shared by the calls of the batch: it lives until the last of them has ended.
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
