// The methods of nutshell.v1. Most run the route of the HTTP API with the same name; those that
// stream have handlers of their own.
#pragma once

#include <string>
#include <vector>

#include "server/grpc/rpc.h"

namespace nutshell::server {

struct Method {
  std::string name;  // "CreateSandbox"
  RpcHandler handle;
  std::function<std::unique_ptr<google::protobuf::Message>()> make_request = nullptr;
  std::function<std::unique_ptr<google::protobuf::Message>()> make_reply = nullptr;
  bool streams_reply = false;  // the handler writes messages itself; else `reply` is sent
  std::string service = {};    // its full name: "nutshell.v1.Nutshell"
  // The gRPC status of an error; null: that of the table of error codes.
  std::function<int(const Error&)> status_of = nullptr;
};

// All methods of the service; Internal if one has no handler.
Result<std::vector<Method>> all_methods();

std::vector<Method> exec_methods();
std::vector<Method> batch_methods();
std::vector<Method> file_methods();
std::vector<Method> daemon_methods();

}  // namespace nutshell::server
