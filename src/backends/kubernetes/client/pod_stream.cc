#include "backends/kubernetes/client/pod_stream.h"

#include <fmt/format.h>

#include "backends/kubernetes/client/api_error.h"

namespace nutshell::kubernetes {
namespace {

using Protocol = ChannelTransport::Protocol;

constexpr const char* kV5 = "v5.channel.k8s.io";
constexpr const char* kV4 = "v4.channel.k8s.io";
constexpr std::size_t kMostMessageBytes = 1U << 20U;  // the server sends 32 KiB

struct Handshake {
  http::Client::UpgradeAnswer answer;
  std::string key;
};

Result<Handshake> shake_hands(ApiClient& api, const std::string& path, const std::string& offer,
                              const Deadline& deadline) {
  auto line = TRY(api.open_line(deadline));
  Handshake handshake{{}, http::new_websocket_key()};
  http::Client::Request request;
  request.target = line.prefix + path;
  request.headers = std::move(line.headers);
  request.headers.add("Sec-WebSocket-Key", handshake.key);
  request.headers.add("Sec-WebSocket-Version", "13");
  request.headers.add("Sec-WebSocket-Protocol", offer);
  handshake.answer = TRY(line.client->request_upgrade(request, "websocket", deadline));
  return handshake;
}

// A handshake does nothing before it is answered with 101, so it may be repeated.
Result<Handshake> shake_until(ApiClient& api, const std::string& path, std::string offer,
                              const Deadline& deadline) {
  bool has_renewed = false;
  for (int attempts = 1;; ++attempts) {
    auto handshake = TRY(shake_hands(api, path, offer, deadline));
    const auto& answer = handshake.answer;
    if (answer.status == 101) return handshake;
    // A server that knows only older protocols refuses without a word, unlike a missing permission.
    if (answer.status == 403 && answer.body.empty() && offer != kV4) {
      offer = kV4;
      continue;
    }
    const ApiRefusal refusal =
        read_refusal(answer.status, answer.body, answer.headers.get("Retry-After"));
    if (refusal.status == 401 && !std::exchange(has_renewed, true)) {
      api.renew_credentials();
      continue;
    }
    const bool may_pass = refusal.status == 429 || refusal.status == 503;
    if (!may_pass || !api.pause_before(attempts, refusal.retry_after, deadline))
      return Failure(error_of(refusal));
  }
}

struct Channels {
  http::WebSocket socket;
  bool is_v5 = false;
};

Result<Channels> open_channels(ApiClient& api, const std::string& path, const std::string& offer,
                               const Deadline& deadline) {
  auto [answer, key] = TRY(shake_until(api, path, offer, deadline));
  const std::string protocol(answer.headers.get("Sec-WebSocket-Protocol"));
  const bool is_sound =
      answer.headers.get("Sec-WebSocket-Accept") == http::websocket_accept_of(key) &&
      (protocol == kV4 || (protocol == kV5 && offer != kV4));
  if (!is_sound)
    return failure(ErrorCode::Corrupt, "Kubernetes answers a WebSocket handshake wrongly");
  http::WebSocket::Options options;
  options.role = http::WebSocket::Role::Client;
  options.most_message_bytes = kMostMessageBytes;
  return Channels{http::WebSocket(std::move(answer.transport), {}, options), protocol == kV5};
}

}  // namespace

Result<std::unique_ptr<ChannelTransport>> open_exec(ApiClient& api, const PodCommand& command,
                                                    const Deadline& deadline) {
  std::string path = core_path(command.pod.name_space, "pods", command.pod.name) +
                     "/exec?stdin=true&stdout=true&stderr=true";
  if (!command.container.empty()) path += "&container=" + http::percent_encode(command.container);
  for (const std::string& argument : command.arguments)
    path += "&command=" + http::percent_encode(argument);
  auto channels = TRY(open_channels(api, path, fmt::format("{}, {}", kV5, kV4), deadline));
  return std::make_unique<ChannelTransport>(std::move(channels.socket),
                                            channels.is_v5 ? Protocol::ExecV5 : Protocol::ExecV4);
}

Result<std::unique_ptr<ChannelTransport>> open_port(ApiClient& api, const Pod& pod,
                                                    std::uint16_t port, const Deadline& deadline) {
  const std::string path =
      fmt::format("{}/portforward?ports={}", core_path(pod.name_space, "pods", pod.name), port);
  auto channels = TRY(open_channels(api, path, kV4, deadline));
  return std::make_unique<ChannelTransport>(std::move(channels.socket), Protocol::Port);
}

}  // namespace nutshell::kubernetes
