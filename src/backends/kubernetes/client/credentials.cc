#include "backends/kubernetes/client/credentials.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/base64.h"
#include "base/file.h"
#include "base/pipe.h"
#include "base/safe_text.h"
#include "base/spawn.h"
#include "base/timed_read.h"
#include "core/json_members.h"
#include "core/json_text.h"

namespace nutshell::kubernetes {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;
using Moment = std::chrono::system_clock::time_point;

constexpr auto kTokenAge = 60s;    // the kubelet replaces a token long before its end
constexpr auto kBeforeEnd = 60s;   // a credential is renewed this long before its end
constexpr auto kPluginTime = 60s;  // a plugin may have to ask a service far away
constexpr std::size_t kMostTokenBytes = 64U << 10U;
constexpr std::size_t kMostAnswerBytes = 1U << 20U;
constexpr std::size_t kMostErrorBytes = 400;

class FixedCredentials : public Credentials {
 public:
  explicit FixedCredentials(Credential credential) : credential_(std::move(credential)) {}
  Result<Credential> current(const Deadline& /*nothing is waited for*/) override {
    return credential_;
  }
  void renew() override {}

 private:
  Credential credential_;
};

class FileCredentials : public Credentials {
 public:
  FileCredentials(std::filesystem::path file, WallClock now)
      : file_(std::move(file)), now_(std::move(now)) {}

  Result<Credential> current(const Deadline& /*a file answers at once*/) override {
    if (read_at_ && now_() < *read_at_ + kTokenAge) return credential_;
    auto text = read_file(file_, kMostTokenBytes);
    if (!text) return while_doing("read the token", std::move(text).error());
    while (text->ends_with('\n'))
      text->pop_back();
    if (text->empty())
      return failure(ErrorCode::Unauthenticated, fmt::format("{} is empty", file_.native()));
    credential_.token = std::move(*text);
    read_at_ = now_();
    return credential_;
  }
  void renew() override { read_at_.reset(); }

 private:
  std::filesystem::path file_;
  WallClock now_;
  Credential credential_;
  std::optional<Moment> read_at_;
};

// A moment such as 2026-11-20T01:02:03Z, or with a fraction and an offset; nullopt: none or
// malformed.
std::optional<Moment> moment_of(const std::string& text) {
  std::tm parts{};
  const char* rest = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (rest == nullptr) return std::nullopt;
  if (*rest == '.') {
    ++rest;
    while (*rest >= '0' && *rest <= '9')
      ++rest;
  }
  const std::time_t local = ::timegm(&parts);
  if (std::string_view(rest) == "Z") return std::chrono::system_clock::from_time_t(local);
  std::tm offset{};
  if (*rest != '+' && *rest != '-') return std::nullopt;
  const char* const end = ::strptime(rest + 1, "%H:%M", &offset);
  if (end == nullptr || *end != '\0') return std::nullopt;
  const auto east = std::chrono::hours(offset.tm_hour) + std::chrono::minutes(offset.tm_min);
  const auto moment = std::chrono::system_clock::from_time_t(local);
  return *rest == '+' ? moment - east : moment + east;
}

class PluginCredentials : public Credentials {
 public:
  PluginCredentials(Access access, WallClock now)
      : access_(std::move(access)), now_(std::move(now)) {}

  Result<Credential> current(const Deadline& deadline) override {
    const bool is_fresh = known_ && (!end_ || now_() + kBeforeEnd < *end_);
    if (is_fresh) return *known_;
    auto told = ask(earlier(deadline, Deadline::in(kPluginTime)));
    if (!told) {
      Error error = std::move(told).error();
      const std::string& hint = access_.plugin->install_hint;
      if (error.code == ErrorCode::NotFound && !hint.empty()) error.message += ": " + hint;
      return while_doing(fmt::format("ask {} for credentials", access_.plugin->command.front()),
                         std::move(error));
    }
    known_ = std::move(*told);
    return *known_;
  }
  void renew() override { known_.reset(); }

 private:
  // The text of KUBERNETES_EXEC_INFO.
  [[nodiscard]] std::string question() const {
    Json spec = {{"interactive", false}};
    if (access_.plugin->wants_cluster) {
      spec["cluster"] = {{"server", access_.server_url},
                         {"tls-server-name", access_.server_name},
                         {"certificate-authority-data", to_base64(access_.authority)}};
    }
    return dump_json(Json{{"apiVersion", access_.plugin->api_version},
                          {"kind", "ExecCredential"},
                          {"spec", std::move(spec)}});
  }

  Result<Credential> ask(const Deadline& deadline) {
    Pipe reply = TRY(make_pipe());
    Command command{.arguments = access_.plugin->command,
                    .input = kNullDevice,
                    .output = reply.write.get(),
                    .error = kNullDevice,  // the caller may be a daemon without a terminal
                    .others = Command::OtherDescriptors::Closed};
    for (const auto& [name, value] : access_.plugin->environment)
      command.variables.push_back(fmt::format("{}={}", name, value));
    command.variables.push_back("KUBERNETES_EXEC_INFO=" + question());
    auto child = TRY(spawn(command));
    reply.write.reset();
    const std::string answer = TRY(read_to_end(reply.read.get(), kMostAnswerBytes, deadline));
    const auto status = TRY(child.wait(deadline));
    if (!status) return failure(ErrorCode::DeadlineExceeded, "it does not end");
    if (!WIFEXITED(*status) || WEXITSTATUS(*status) != 0)
      return failure(ErrorCode::Unauthenticated,
                     fmt::format("it failed; run it by hand to see why{}", shown(answer)));
    return credential_of(answer);
  }

  static std::string shown(const std::string& answer) {
    if (answer.empty()) return {};
    return ": " + terminal_line(std::string_view(answer).substr(0, kMostErrorBytes));
  }

  Result<Credential> credential_of(const std::string& answer) {
    const auto document = parse_strict(answer);
    const Json* status = document ? member(*document, "status") : nullptr;
    if (status == nullptr || text_of(*document, "kind") != "ExecCredential" ||
        text_of(*document, "apiVersion") != access_.plugin->api_version)
      return failure(ErrorCode::Corrupt,
                     "its answer is no ExecCredential of the version asked for");
    Credential credential{text_of(*status, "token"), text_of(*status, "clientCertificateData"),
                          text_of(*status, "clientKeyData")};
    if (credential.certificate.empty() != credential.key.empty())
      return failure(ErrorCode::Corrupt, "its answer holds a certificate or a key alone");
    if (credential.token.empty() && credential.certificate.empty())
      return failure(ErrorCode::Corrupt, "its answer holds no credentials");
    const std::string end = text_of(*status, "expirationTimestamp");
    end_ = moment_of(end);
    if (!end.empty() && !end_)
      return failure(ErrorCode::Corrupt, "its answer ends at no moment that can be read");
    return credential;
  }

  Access access_;
  WallClock now_;
  std::optional<Credential> known_;
  std::optional<Moment> end_;
};

}  // namespace

std::unique_ptr<Credentials> make_credentials(const Access& access, WallClock now) {
  if (access.plugin) return std::make_unique<PluginCredentials>(access, std::move(now));
  if (!access.token_file.empty())
    return std::make_unique<FileCredentials>(access.token_file, std::move(now));
  return std::make_unique<FixedCredentials>(
      Credential{access.token, access.certificate, access.key});
}

}  // namespace nutshell::kubernetes
