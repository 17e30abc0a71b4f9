// One gRPC call as its handler sees it: blocking, with a bound on every wait. Used by one thread.
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
  // The client's next message; Ended: it has no more; Nothing: none until the deadline. Cancelled
  // when the client is gone.
  virtual Result<Next> read(google::protobuf::Message& into, const Deadline& deadline) = 0;
  // Readable when read() would not wait.
  virtual int input_descriptor() = 0;

  // Unavailable: the client is gone, or took nothing for too long.
  virtual Result<> write(const google::protobuf::Message& message) = 0;

  // A client that cancelled, hung up or set a deadline that has passed wants no answer.
  [[nodiscard]] virtual bool is_gone() const = 0;
  virtual int gone_descriptor() = 0;  // readable then

  // The first of that name, in small letters; none: not there.
  [[nodiscard]] virtual const std::string* metadata(std::string_view name) const = 0;
};

// A call on its way through a method.
struct RpcCall {
  Rpc& rpc;
  service::Service& service;
  service::Caller caller;
  const google::protobuf::Message& request;  // the first message
  google::protobuf::Message& reply;          // of a method that gives one
  const std::function<service::MetricsSnapshot()>& more_metrics;

  [[nodiscard]] std::string idempotency_key() const {
    const std::string* key = rpc.metadata("idempotency-key");
    return key == nullptr ? std::string() : *key;
  }
};

using RpcHandler = std::function<Result<>(RpcCall&)>;

}  // namespace nutshell::server
