// Requests to a daemon of ours, wherever it listens. Not thread-safe.
#pragma once

#include <filesystem>
#include <string>

#include "core/daemon_access.h"
#include "http/bridge.h"
#include "http/client.h"

namespace nutshell::http {

class DaemonLink {
 public:
  // `programs`: the directory of our programs, one of which is the bridge to TCP.
  DaemonLink(DaemonAccess access, const std::filesystem::path& programs);
  DaemonLink(const DaemonLink&) = delete;
  DaemonLink& operator=(const DaemonLink&) = delete;

  // `body`: JSON. Errors name the daemon; a refusal is an answer.
  Result<Client::Response> send(const std::string& method, const std::string& target,
                                const std::string& body = {});
  // On a connection of its own.
  Result<Client::RawAnswer> upgrade(const std::string& target, const std::string& body,
                                    std::string_view protocol);

  [[nodiscard]] const DaemonAccess& access() const { return access_; }

 private:
  [[nodiscard]] Client::Options options();
  [[nodiscard]] Client::Request request(const std::string& method, const std::string& target,
                                        const std::string& body) const;

  DaemonAccess access_;
  Bridges bridges_;
  Client client_;
};

}  // namespace nutshell::http
