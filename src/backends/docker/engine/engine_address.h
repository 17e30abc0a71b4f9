// The address of an engine, found in the same places as by the docker and podman commands.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/client.h"

namespace nutshell::docker {

enum class EngineKind { Docker, Podman };

struct EngineAddress {
  std::filesystem::path socket;  // a Unix socket; empty for TCP
  std::string host;              // for TCP
  std::uint16_t port = 0;
  struct TlsFiles {
    std::filesystem::path authority;
    std::filesystem::path certificate;
    std::filesystem::path key;
  };
  std::optional<TlsFiles> tls;

  std::string how_to_start;  // advice on how to start the engine, or to name another address
  [[nodiscard]] bool is_local() const { return !socket.empty(); }
  [[nodiscard]] std::string text() const;
};

// "unix:///run/docker.sock", "tcp://10.0.0.1:2376". Unsupported for other schemes.
Result<EngineAddress> parse_engine_address(std::string_view text);

// Advice to append to the error that the engine cannot be reached; may be empty.
std::string advice_for(const EngineAddress& address);

// Returns an environment variable; empty if it is not set.
using Variables = std::function<std::string(const char* name)>;
std::string variable_of_process(const char* name);

// DOCKER_HOST with DOCKER_TLS_VERIFY and DOCKER_CERT_PATH, else DOCKER_CONTEXT or the context of
// config.json, else /var/run/docker.sock.
Result<EngineAddress> find_docker(const Variables& variables);
// CONTAINER_HOST, else the user's podman socket, else the machine's.
Result<EngineAddress> find_podman(const Variables& variables);
Result<EngineAddress> find_engine(EngineKind kind, const Variables& variables);

// DOCKER_CONFIG, or ~/.docker.
std::filesystem::path docker_config_directory(const Variables& variables);

Result<http::Client> make_client(const EngineAddress& address);

}  // namespace nutshell::docker
