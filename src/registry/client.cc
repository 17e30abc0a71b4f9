#include "registry/client.h"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/loopback.h"
#include "core/json_members.h"
#include "core/json_text.h"
#include "http/tls/tls.h"
#include "images/image_name.h"
#include "images/manifest.h"

namespace nutshell::registry {
namespace {

constexpr int kMostRedirects = 5;
constexpr std::size_t kPiece = 256U << 10U;
constexpr std::size_t kMostTokenBytes = 1U << 20U;
constexpr const char* kManifests =
    "application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json, "
    "application/vnd.docker.distribution.manifest.list.v2+json, "
    "application/vnd.docker.distribution.manifest.v2+json";

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

Result<std::unique_ptr<http::Client>> client_for(const Address& address) {
  http::Client::Options options;
  options.dial = http::dial_tcp(address.host, address.port);
  const bool is_usual = address.port == (address.is_plain ? 80 : 443);
  options.host = is_usual ? address.host : fmt::format("{}:{}", address.host, address.port);
  if (!address.is_plain) options.make_transport = TRY(http::tls_client({address.host, {}, {}, {}}));
  return std::make_unique<http::Client>(std::move(options));
}

// The value of a parameter of a challenge: realm="…".
std::string parameter_of(std::string_view challenge, std::string_view name) {
  const std::string wanted = fmt::format("{}=\"", name);
  const std::size_t begin = challenge.find(wanted);
  if (begin == std::string_view::npos) return {};
  const std::size_t first = begin + wanted.size();
  const std::size_t end = challenge.find('"', first);
  return end == std::string_view::npos ? "" : std::string(challenge.substr(first, end - first));
}

}  // namespace

Result<Address> parse_address(std::string_view location, const Address& base) {
  if (location.starts_with('/') && !location.starts_with("//")) {
    Address address = base;
    address.target = location;
    return address;
  }
  constexpr std::string_view kSecure = "https://";
  constexpr std::string_view kPlain = "http://";
  Address address;
  address.is_plain = location.starts_with(kPlain);
  const bool is_known = address.is_plain || location.starts_with(kSecure);
  const Failure invalid =
      failure(ErrorCode::Corrupt, fmt::format("the registry names '{}'", images::shown(location)));
  if (!is_known) return invalid;
  location.remove_prefix(address.is_plain ? kPlain.size() : kSecure.size());
  const std::size_t slash = std::min(location.find_first_of("/?#"), location.size());
  std::string_view host = location.substr(0, slash);
  address.target = location.substr(slash);
  if (!address.target.starts_with('/')) address.target.insert(0, "/");
  address.target.resize(std::min(address.target.find('#'), address.target.size()));
  address.port = address.is_plain ? 80 : 443;
  const std::size_t colon = host.find(':', host.starts_with('[') ? host.find(']') : 0);
  if (colon != std::string_view::npos) {
    const std::string_view digits = host.substr(colon + 1);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), address.port);
    if (error != std::errc() || end != digits.data() + digits.size()) return invalid;
    host = host.substr(0, colon);
  }
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  address.host = host;
  const bool is_sound = !host.empty() && host.find_first_of("@ \t\r\n\"\\") == host.npos &&
                        address.target.find_first_of(" \t\r\n") == std::string::npos;
  if (!is_sound) return invalid;
  // Otherwise a registry elsewhere could send requests, and the account, to services of this
  // machine.
  if (address.is_plain && !(base.is_plain && is_loopback_host(host)))
    return failure(ErrorCode::Corrupt,
                   fmt::format("the registry names '{}', which has no TLS", images::shown(host)));
  return address;
}

Result<Challenge> parse_challenge(std::string_view header) {
  Challenge challenge;
  challenge.is_basic = header.starts_with("Basic") || header.starts_with("basic");
  challenge.realm = parameter_of(header, "realm");
  challenge.service = parameter_of(header, "service");
  challenge.scope = parameter_of(header, "scope");
  const bool is_bearer = header.starts_with("Bearer ") || header.starts_with("bearer ");
  if (challenge.is_basic || (is_bearer && !challenge.realm.empty())) return challenge;
  return failure(
      ErrorCode::Unsupported,
      fmt::format("the registry wants another kind of login: '{}'", images::shown(header)));
}

bool RegistryClient::is_registry(const Address& address) const {
  return address.host == reference_.host && address.port == reference_.port;
}

Failure RegistryClient::refused(const http::ResponseHead& head) const {
  const std::string name =
      fmt::format("{}{}{}", reference_.local_name, reference_.is_digest ? "@" : "",
                  reference_.is_digest ? reference_.version : "");
  if (head.status == 401 || head.status == 403) {
    return failure(ErrorCode::PermissionDenied,
                   fmt::format("{} refuses {}: it does not exist, or needs an account; 'docker "
                               "login {}' stores one that is used here too",
                               reference_.host, name, reference_.registry));
  }
  if (head.status == 404)
    return failure(ErrorCode::NotFound, fmt::format("{} has no {}", reference_.host, name));
  if (head.status == 429) {
    return failure(ErrorCode::ResourceExhausted,
                   fmt::format("{} allows no more pulls for now: wait, or log in with 'docker "
                               "login {}'",
                               reference_.host, reference_.registry));
  }
  return failure(ErrorCode::Unavailable,
                 fmt::format("{} answers with status {}", reference_.host, head.status));
}

Result<RegistryClient::Answer> RegistryClient::ask(const Address& address,
                                                   const std::string& accept) {
  Answer answer;
  answer.client = TRY(client_for(address));
  http::Client::Request request;
  request.target = address.target;
  request.headers = {{"Accept", accept}, {"User-Agent", "nutshell"}};
  // The storage behind a registry gets no account: the address it is given is enough.
  if (!authorization_.empty() && is_registry(address))
    request.headers.add("Authorization", authorization_);
  answer.head = TRY(answer.client->begin(request, Deadline::in(patience_.silence)));
  return answer;
}

Result<RegistryClient::Answer> RegistryClient::get(const std::string& target,
                                                   const std::string& accept) {
  Address address{reference_.is_plain, reference_.host, reference_.port, target};
  bool has_authorized = false;
  for (int redirects = 0; redirects <= kMostRedirects;) {
    Answer answer = TRY(ask(address, accept));
    if (answer.head.status == 200) return answer;
    if (answer.head.status == 401 && is_registry(address) && !has_authorized) {
      TRY(authorize(answer.head));
      has_authorized = true;
      continue;
    }
    if (!is_redirect(answer.head.status)) return refused(answer.head);
    address = TRY(parse_address(answer.head.headers.get("Location"), address));
    ++redirects;
  }
  return failure(ErrorCode::Corrupt, fmt::format("{} redirects too often", reference_.host));
}

Result<> RegistryClient::authorize(const http::ResponseHead& head) {
  const Challenge challenge = TRY(parse_challenge(head.headers.get("WWW-Authenticate")));
  if (!challenge.is_basic) {
    authorization_ = "Bearer " + TRY(token_for(challenge));
    return {};
  }
  if (account_.secret.empty()) return refused(head);
  authorization_ = "Basic " + to_base64(fmt::format("{}:{}", account_.user, account_.secret));
  return {};
}

Result<http::Client::Response> RegistryClient::ask_for_token(const Challenge& challenge) {
  const Address base{reference_.is_plain, reference_.host, reference_.port, "/"};
  const Address address = TRY(parse_address(challenge.realm, base));
  const auto client = TRY(client_for(address));
  http::Client::Request request;
  request.headers = {{"Accept", "application/json"}, {"User-Agent", "nutshell"}};
  const std::string scope = fmt::format("repository:{}:pull", reference_.repository);
  const std::string query = fmt::format(
      "service={}&scope={}", http::percent_encode(challenge.service), http::percent_encode(scope));
  if (account_.user == kTokenUser) {
    request.method = "POST";
    request.target = address.target;
    request.headers.add("Content-Type", "application/x-www-form-urlencoded");
    request.body = fmt::format("grant_type=refresh_token&client_id=nutshell&{}&refresh_token={}",
                               query, http::percent_encode(account_.secret));
    return client->send(request, Deadline::in(patience_.silence), kMostTokenBytes);
  }
  const char* joint = address.target.find('?') == std::string::npos ? "?" : "&";
  request.target = address.target + joint + query;
  if (!account_.secret.empty())
    request.headers.add("Authorization",
                        "Basic " + to_base64(account_.user + ":" + account_.secret));
  return client->send(request, Deadline::in(patience_.silence), kMostTokenBytes);
}

Result<std::string> RegistryClient::token_for(const Challenge& challenge) {
  const auto response = TRY(ask_for_token(challenge));
  if (response.status != 200) return refused({response.status, response.headers, true});
  const auto document = parse_strict(response.body);
  std::string token;
  if (document) token = text_of(*document, "token");
  if (document && token.empty()) token = text_of(*document, "access_token");
  const bool is_sound = !token.empty() && token.find_first_of(" \t\r\n") == std::string::npos;
  if (is_sound) return token;
  return failure(ErrorCode::Corrupt, "the registry's answer to the login holds no token");
}

Deadline RegistryClient::end_of(std::uint64_t bytes) const {
  const auto seconds = static_cast<std::int64_t>(bytes / patience_.bytes_per_second);
  return Deadline::in(2 * patience_.silence + std::chrono::seconds(seconds));
}

Result<std::string> RegistryClient::read_piece(http::Client& client, const Deadline& end) const {
  auto piece = client.read_part(kPiece, earlier(Deadline::in(patience_.silence), end));
  if (piece || !end.has_passed()) return piece;
  return failure(ErrorCode::DeadlineExceeded,
                 fmt::format("{} sends less than {} bytes a second", reference_.host,
                             patience_.bytes_per_second));
}

Result<std::string> RegistryClient::manifest(const std::string& version) {
  Answer answer =
      TRY(get(fmt::format("/v2/{}/manifests/{}", reference_.repository, version), kManifests));
  const Deadline end = end_of(images::kMostJsonBytes);
  std::string document;
  for (;;) {
    const std::string piece = TRY(read_piece(*answer.client, end));
    if (piece.empty()) return document;
    document += piece;
    if (document.size() > images::kMostJsonBytes)
      return failure(ErrorCode::Corrupt, "the image's manifest is too long");
  }
}

Result<> RegistryClient::blob(const std::string& digest, std::uint64_t size, const Sink& sink) {
  Answer answer =
      TRY(get(fmt::format("/v2/{}/blobs/sha256:{}", reference_.repository, digest), "*/*"));
  const Deadline end = end_of(size);
  std::uint64_t received = 0;
  for (;;) {
    const std::string piece = TRY(read_piece(*answer.client, end));
    if (piece.empty()) break;
    received += piece.size();
    if (received > size) break;
    TRY(sink(piece));
  }
  if (received == size) return {};
  return failure(
      ErrorCode::Corrupt,
      fmt::format("{} sends {} bytes of sha256:{}, and the image states {}", reference_.host,
                  received > size ? "more" : "fewer", digest.substr(0, 12), size));
}

}  // namespace nutshell::registry
