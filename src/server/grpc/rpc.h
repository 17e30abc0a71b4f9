// One gRPC call for its handler: blocking, with a bound on every wait. Used by one thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/deadline.h"
#include "base/result.h"
#include "http/exchange.h"
#include "service/model/metrics_view.h"
#include "service/service.h"

namespace google::protobuf {
class Message;
}

namespace nutshell::server {

class Rpc {
 public:
  virtual ~Rpc() = default;

  enum class Next { Message, Ended, Nothing };
  // Reads the client's next message. Ended if there are no more, Nothing if the deadline passed,
  // Cancelled if the client is gone.
  virtual Result<Next> read(google::protobuf::Message& into, const Deadline& deadline) = 0;
  // Readable when read() would not wait.
  virtual int input_descriptor() = 0;

  // Unavailable if the client is gone, or read nothing for too long.
  virtual Result<> write(const google::protobuf::Message& message) = 0;

  // Whether the client has cancelled or hung up, or its deadline has passed.
  [[nodiscard]] virtual bool is_gone() const = 0;
  virtual int gone_descriptor() = 0;  // readable when it is gone

  // The first value of that name, in lower case; nullptr if there is none.
  [[nodiscard]] virtual const std::string* metadata(std::string_view name) const = 0;
};

// A call with everything that its handler uses.
struct RpcCall {
  Rpc& rpc;
  service::Service& service;
  service::Caller caller;
  const google::protobuf::Message& request;  // the first message
  google::protobuf::Message& reply;          // for a method with one reply
  const std::function<service::MetricsSnapshot()>& more_metrics;

  [[nodiscard]] std::string idempotency_key() const {
    const std::string* key = rpc.metadata("idempotency-key");
    return key == nullptr ? std::string() : *key;
  }
};

using RpcHandler = std::function<Result<>(RpcCall&)>;

}  // namespace nutshell::server
