#include "backends/docker/engine/engine_address.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "backends/docker/engine/engine_json.h"
#include "base/environment.h"
#include "base/file.h"
#include "base/sha256.h"
#include "http/tls/tls.h"

namespace nutshell::docker {
namespace {

constexpr const char* kDockerSocket = "/var/run/docker.sock";
constexpr std::uint16_t kPlainPort = 2375;
constexpr std::uint16_t kTlsPort = 2376;

Failure unknown_scheme(std::string_view text) {
  return failure(ErrorCode::Unsupported,
                 fmt::format("engine address '{}': only unix:// and tcp:// are known; an engine "
                             "behind ssh is reached through a tunnel to its socket "
                             "(ssh -L ./docker.sock:/var/run/docker.sock HOST)",
                             text));
}

Result<EngineAddress> parse_tcp(std::string_view place) {
  EngineAddress address;
  place = place.substr(0, place.find('/'));
  std::size_t colon = place.rfind(':');
  if (colon != std::string_view::npos && place.find(']', colon) != std::string_view::npos)
    colon = std::string_view::npos;  // the colon is inside the brackets of an IPv6 address
  std::string_view host = place.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  address.host = host;
  address.port = kPlainPort;
  if (colon != std::string_view::npos) {
    const std::string_view digits = place.substr(colon + 1);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), address.port);
    if (error != std::errc() || end != digits.data() + digits.size() || address.port == 0)
      return failure(ErrorCode::InvalidArgument, fmt::format("'{}' is not a port", digits));
  }
  if (address.host.empty()) return failure(ErrorCode::InvalidArgument, "no host in the address");
  return address;
}

EngineAddress::TlsFiles tls_files_in(const std::filesystem::path& directory) {
  return {directory / "ca.pem", directory / "cert.pem", directory / "key.pem"};
}

// A context consists of two directories named by the hash of its name.
Result<EngineAddress> read_context(const std::filesystem::path& configuration,
                                   const std::string& name) {
  const std::string hash = sha256_hex(name);
  const auto meta = configuration / "contexts" / "meta" / hash / "meta.json";
  const auto text = read_file(meta);
  if (!text) {
    return failure(ErrorCode::NotFound,
                   fmt::format("docker context '{}': {}", name, text.error().message));
  }
  const auto document = TRY(parse_json(*text));
  const auto* endpoints = member(document, "Endpoints");
  const auto* docker = endpoints != nullptr ? member(*endpoints, "docker") : nullptr;
  if (docker == nullptr)
    return failure(ErrorCode::InvalidArgument,
                   fmt::format("docker context '{}' names no engine", name));
  EngineAddress address = TRY(parse_engine_address(text_of(*docker, "Host")));
  const auto files = configuration / "contexts" / "tls" / hash / "docker";
  std::error_code ignored;
  if (!address.is_local() && std::filesystem::exists(files, ignored))
    address.tls = tls_files_in(files);
  return address;
}

Result<std::string> chosen_context(const Variables& variables,
                                   const std::filesystem::path& configuration) {
  std::string named = variables("DOCKER_CONTEXT");
  if (!named.empty()) return named;
  const auto text = read_file(configuration / "config.json");
  if (!text) return std::string();
  return text_of(TRY(parse_json(*text)), "currentContext");
}

}  // namespace

std::string EngineAddress::text() const {
  return is_local() ? fmt::format("unix://{}", socket.native())
                    : fmt::format("tcp://{}:{}", host, port);
}

std::string advice_for(const EngineAddress& address) {
  if (!address.is_local() || ::access(address.socket.c_str(), W_OK) == 0) return "";
  if (errno != EACCES) return address.how_to_start.empty() ? "" : ": " + address.how_to_start;
  return ": this user may not use it, because access to it is as good as root there. A rootless "
         "podman and the native backend need no such right";
}

std::string variable_of_process(const char* name) {
  return environment_variable(name);
}

std::filesystem::path docker_config_directory(const Variables& variables) {
  const std::string named = variables("DOCKER_CONFIG");
  if (!named.empty()) return named;
  return std::filesystem::path(variables("HOME")) / ".docker";
}

Result<EngineAddress> parse_engine_address(std::string_view text) {
  constexpr std::string_view kUnix = "unix://";
  constexpr std::string_view kTcp = "tcp://";
  if (text.starts_with(kUnix) && text.size() > kUnix.size()) {
    EngineAddress address;
    address.socket = text.substr(kUnix.size());
    return address;
  }
  if (text.starts_with(kTcp)) return parse_tcp(text.substr(kTcp.size()));
  return unknown_scheme(text);
}

namespace {

Result<EngineAddress> look_for_docker(const Variables& variables) {
  const auto configuration = docker_config_directory(variables);
  const std::string named = variables("DOCKER_HOST");
  if (named.empty()) {
    const std::string context = TRY(chosen_context(variables, configuration));
    if (!context.empty() && context != "default") return read_context(configuration, context);
    return parse_engine_address(fmt::format("unix://{}", kDockerSocket));
  }
  EngineAddress address = TRY(parse_engine_address(named));
  if (address.is_local() || variables("DOCKER_TLS_VERIFY").empty()) return address;
  const std::string files = variables("DOCKER_CERT_PATH");
  address.tls = tls_files_in(files.empty() ? configuration : std::filesystem::path(files));
  if (address.port == kPlainPort) address.port = kTlsPort;
  return address;
}

Result<EngineAddress> look_for_podman(const Variables& variables) {
  const std::string named = variables("CONTAINER_HOST");
  if (!named.empty()) return parse_engine_address(named);
  const std::string runtime = variables("XDG_RUNTIME_DIR");
  if (::geteuid() != 0 && !runtime.empty())
    return parse_engine_address(fmt::format("unix://{}/podman/podman.sock", runtime));
  return parse_engine_address("unix:///run/podman/podman.sock");
}

}  // namespace

Result<EngineAddress> find_docker(const Variables& variables) {
  EngineAddress address = TRY(look_for_docker(variables));
  address.how_to_start =
      "is Docker running? 'systemctl start docker' starts it; DOCKER_HOST says where else it is";
  return address;
}

Result<EngineAddress> find_podman(const Variables& variables) {
  EngineAddress address = TRY(look_for_podman(variables));
  address.how_to_start =
      "is podman's service running? 'systemctl start podman.socket' starts root's, with --user "
      "your "
      "own; CONTAINER_HOST says where else it is";
  return address;
}

Result<EngineAddress> find_engine(EngineKind kind, const Variables& variables) {
  return kind == EngineKind::Docker ? find_docker(variables) : find_podman(variables);
}

namespace {

// Checked here, because only this place can say who names these files.
Result<> check_tls_files(const EngineAddress& address) {
  const EngineAddress::TlsFiles& files = *address.tls;
  for (const auto* file : {&files.authority, &files.certificate, &files.key}) {
    if (::access(file->c_str(), R_OK) == 0) continue;
    return failure(
        ErrorCode::InvalidArgument,
        fmt::format("engine {}: TLS needs {}: {}; DOCKER_CERT_PATH or the docker context "
                    "has to give ca.pem, cert.pem and key.pem",
                    address.text(), file->native(), ::strerrordesc_np(errno)));
  }
  return {};
}

}  // namespace

Result<http::Client> make_client(const EngineAddress& address) {
  http::Client::Options options;
  if (address.is_local()) {
    options.dial = http::dial_unix(address.socket);
    return http::Client(std::move(options));
  }
  options.dial = http::dial_tcp(address.host, address.port);
  options.host = address.host;
  if (address.tls) {
    TRY(check_tls_files(address));
    options.make_transport = TRY(http::tls_client(
        {address.host, address.tls->authority, address.tls->certificate, address.tls->key}));
  }
  return http::Client(std::move(options));
}

}  // namespace nutshell::docker
