// Opens streams into pods: a command in a container, or a port of a pod.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backends/kubernetes/client/api_client.h"
#include "backends/kubernetes/client/channel_transport.h"

namespace nutshell::kubernetes {

struct Pod {
  std::string name_space;
  std::string name;
};

struct PodCommand {
  Pod pod;
  std::string container;
  std::vector<std::string> arguments;
};

// Starts the command with its input and output on the stream. A lost stream does not end the
// command: it only gets the end of its input. v5 of the protocol is used where the server has it,
// else v4.
Result<std::unique_ptr<ChannelTransport>> open_exec(ApiClient& api, const PodCommand& command,
                                                    const Deadline& deadline);

Result<std::unique_ptr<ChannelTransport>> open_port(ApiClient& api, const Pod& pod,
                                                    std::uint16_t port, const Deadline& deadline);

}  // namespace nutshell::kubernetes
