// The answer to one POST: a JSON object, or a stream of events if something comes before it.
// Thread-safe.
#pragma once

#include <mutex>
#include <string>

#include "http/exchange.h"
#include "server/mcp/channel.h"

namespace nutshell::mcp {

enum class StatusRule : std::uint8_t {
  Plain,      // an error of a method is an answer like others
  Stateless,  // errors have the status that gateways understand
};

class HttpChannel : public Channel {
 public:
  HttpChannel(http::Exchange& exchange, StatusRule rule) : exchange_(exchange), rule_(rule) {}

  // Adds a header to the answer.
  void set_session(std::string id) { session_ = std::move(id); }

  void send(std::string_view message) override;
  void respond(std::string_view message, int error_code) override;
  void abandon() override;
  // False if the client is gone.
  bool keep_alive();

 private:
  bool begin_stream();
  [[nodiscard]] http::Headers headers(std::string_view type) const;
  [[nodiscard]] int status_of(int error_code) const;

  http::Exchange& exchange_;
  StatusRule rule_;
  std::string session_;
  std::mutex mutex_;
  bool is_broken_ = false;
};

}  // namespace nutshell::mcp
