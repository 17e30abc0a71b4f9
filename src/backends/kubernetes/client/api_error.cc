#include "backends/kubernetes/client/api_error.h"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "base/safe_text.h"
#include "core/json_members.h"
#include "core/json_text.h"
#include "http/message.h"

namespace nutshell::kubernetes {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostMessage = 1000;
constexpr std::uint64_t kLongestWait = 3600;

std::string shown(std::string_view text) {
  return terminal_line(text.substr(0, kMostMessage));
}

ErrorCode code_of(const ApiRefusal& refusal) {
  switch (refusal.status) {
    case 400:
    case 405:
    case 406:
    case 415:
    case 422:
      return ErrorCode::InvalidArgument;
    case 401:
      return ErrorCode::Unauthenticated;
    case 403:
      // A quota refuses with the same status as a missing permission.
      return refusal.message.find("exceeded quota") != std::string::npos
                 ? ErrorCode::ResourceExhausted
                 : ErrorCode::PermissionDenied;
    case 404:
      return ErrorCode::NotFound;
    case 409:
      return refusal.reason == "AlreadyExists" ? ErrorCode::AlreadyExists : ErrorCode::Conflict;
    case 410:
      return ErrorCode::Expired;
    case 413:
      return ErrorCode::TooLarge;
    default:
      return refusal.status == 429 || refusal.status >= 500 ? ErrorCode::Unavailable
                                                            : ErrorCode::Corrupt;
  }
}

std::optional<std::chrono::seconds> seconds_in(std::string_view text) {
  std::uint64_t seconds = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, seconds);
  if (error != std::errc() || stopped != end || text.empty()) return std::nullopt;
  return std::chrono::seconds(std::min(seconds, kLongestWait));
}

}  // namespace

ApiRefusal read_status(const Json& status) {
  ApiRefusal refusal;
  refusal.status = static_cast<int>(std::min<std::uint64_t>(count_of(status, "code"), 999));
  refusal.reason = shown(text_of(status, "reason"));
  refusal.message = shown(text_of(status, "message"));
  const Json* details = member(status, "details");
  const std::uint64_t wait = details == nullptr ? 0 : count_of(*details, "retryAfterSeconds");
  if (wait > 0) refusal.retry_after = std::chrono::seconds(std::min(wait, kLongestWait));
  return refusal;
}

ApiRefusal read_refusal(int status, std::string_view body, std::string_view retry_after) {
  ApiRefusal refusal;
  const auto document = parse_strict(body);
  if (document && text_of(*document, "kind") == "Status") refusal = read_status(*document);
  refusal.status = status;
  if (refusal.message.empty()) refusal.message = shown(body);
  if (refusal.message.empty()) refusal.message = http::reason_of(status);
  if (const auto wait = seconds_in(retry_after)) refusal.retry_after = wait;
  return refusal;
}

Error error_of(const ApiRefusal& refusal) {
  return {code_of(refusal),
          fmt::format("Kubernetes refuses: {} ({})", refusal.message, refusal.status)};
}

bool is_passing(int status) {
  return status == 429 || status == 500 || status == 502 || status == 503 || status == 504;
}

}  // namespace nutshell::kubernetes
