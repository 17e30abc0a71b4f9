// The methods of nutshell.v1: most are a route of the HTTP API under its own name; those that
// stream have a form of their own here.
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
  bool streams_reply = false;  // the handler writes; else its `reply` is sent
};

// Every method of the service; Internal where one is answered by nobody.
Result<std::vector<Method>> all_methods();

std::vector<Method> exec_methods();
std::vector<Method> batch_methods();
std::vector<Method> file_methods();
std::vector<Method> daemon_methods();

}  // namespace nutshell::server
