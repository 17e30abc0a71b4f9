#include "http/daemon_link.h"

#include <fmt/format.h>

namespace nutshell::http {
namespace {

using namespace std::chrono_literals;

constexpr auto kAnswerTime = 120s;
constexpr std::size_t kMostAnswerBytes = 64U << 20U;

}  // namespace

DaemonLink::DaemonLink(DaemonAccess access, const std::filesystem::path& programs)
    : access_(std::move(access)), bridges_(programs / "nutshelld"), client_(options()) {}

Client::Options DaemonLink::options() {
  Client::Options options;
  if (!access_.socket.empty()) {
    options.dial = [this](const Deadline& deadline) -> Result<UniqueFd> {
      auto socket = dial_unix(access_.socket)(deadline);
      if (socket) return socket;
      return failure(ErrorCode::Unavailable, "no daemon answers: 'nutshell daemon start' is one");
    };
    return options;
  }
  options.host = access_.url.substr(access_.url.find("://") + 3);
  options.dial = [this](const Deadline& /*the bridge has its own*/) {
    return bridges_.open(access_.url);
  };
  return options;
}

Client::Request DaemonLink::request(const std::string& method, const std::string& target,
                                    const std::string& body) const {
  Client::Request request{.method = method, .target = target, .body = body};
  if (!body.empty()) request.headers.add("Content-Type", "application/json");
  if (!access_.token.empty()) request.headers.add("Authorization", "Bearer " + access_.token);
  return request;
}

Result<Client::Response> DaemonLink::send(const std::string& method, const std::string& target,
                                          const std::string& body) {
  auto answer =
      client_.send(request(method, target, body), Deadline::in(kAnswerTime), kMostAnswerBytes);
  if (!answer) return while_doing(to_string(access_), std::move(answer).error());
  return answer;
}

Result<Client::RawAnswer> DaemonLink::upgrade(const std::string& target, const std::string& body,
                                              std::string_view protocol) {
  // The connection of send() stays as it is: this one becomes something else.
  Client client(options());
  auto answer =
      client.ask_raw_upgrade(request("POST", target, body), protocol, Deadline::in(kAnswerTime));
  if (!answer) return while_doing(to_string(access_), std::move(answer).error());
  return answer;
}

}  // namespace nutshell::http
