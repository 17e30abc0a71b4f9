#include "egress/inspect/credential_header.h"

#include <algorithm>
#include <array>

#include "base/base64.h"

namespace nutshell::egress {
namespace {

using namespace std::string_view_literals;

constexpr std::array kNames = {
    "Authorization"sv,
    "Api-Key"sv,
    "ApiKey"sv,
    "Access-Token"sv,
    "Circle-Token"sv,
    "Dd-Api-Key"sv,
    "Dd-Application-Key"sv,
    "Deploy-Token"sv,
    "Job-Token"sv,
    "Ocp-Apim-Subscription-Key"sv,
    "Private-Token"sv,
    "Travis-Api-Token"sv,
    "X-Access-Token"sv,
    "X-Api-Key"sv,
    "X-ApiKey"sv,
    "X-Api-Token"sv,
    "X-App-Token"sv,
    "X-Auth-Key"sv,
    "X-Auth-Token"sv,
    "X-Consul-Token"sv,
    "X-Figma-Token"sv,
    "X-Goog-Api-Key"sv,
    "X-JFrog-Art-Api"sv,
    "X-NuGet-ApiKey"sv,
    "X-Redmine-Api-Key"sv,
    "X-Shopify-Access-Token"sv,
    "X-Subscription-Token"sv,
    "X-Token"sv,
    "X-TrackerToken"sv,
    "X-Vault-Token"sv,
};

constexpr std::size_t kMostWordBytes = 64;

bool is_letter_or_digit(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
         (letter >= '0' && letter <= '9');
}

// The name of a scheme, a user or a parameter, with what stands around it.
bool is_word(std::string_view text, std::string_view marks) {
  return text.size() <= kMostWordBytes && std::all_of(text.begin(), text.end(), [&](char letter) {
           return is_letter_or_digit(letter) || marks.find(letter) != std::string_view::npos;
         });
}

bool holds_one(std::string_view text, const std::vector<Replacement>& replacements) {
  return std::any_of(replacements.begin(), replacements.end(), [&](const Replacement& one) {
    return text.find(one.first) != std::string_view::npos;
  });
}

bool is_one(std::string_view text, const std::vector<Replacement>& replacements) {
  return std::any_of(replacements.begin(), replacements.end(),
                     [&](const Replacement& one) { return one.first == text; });
}

// "Bearer TEXT", "Token token=\"TEXT\"", "TEXT".
bool ends_with_one(std::string_view value, const std::vector<Replacement>& replacements) {
  if (!value.empty() && value.back() == '"') value.remove_suffix(1);
  return std::any_of(replacements.begin(), replacements.end(), [&](const Replacement& one) {
    const std::string& text = one.first;
    return value.size() >= text.size() && value.substr(value.size() - text.size()) == text &&
           is_word(value.substr(0, value.size() - text.size()), " -_=\"") &&
           !holds_one(value.substr(0, value.size() - text.size()), replacements);
  });
}

// "user:TEXT", "TEXT:", "TEXT:TEXT".
bool are_user_and_password(std::string_view credentials,
                           const std::vector<Replacement>& replacements) {
  const std::size_t colon = credentials.find(':');
  const auto is_fit = [&](std::string_view part) {
    return is_one(part, replacements) || (is_word(part, "-_.@+") && !holds_one(part, replacements));
  };
  return is_fit(credentials.substr(0, colon)) &&
         (colon == std::string_view::npos || is_fit(credentials.substr(colon + 1)));
}

}  // namespace

bool carries_credentials(std::string_view name) {
  return std::any_of(kNames.begin(), kNames.end(),
                     [&](std::string_view known) { return http::equal_in_any_case(known, name); });
}

std::optional<std::string> basic_credentials(std::string_view value) {
  constexpr std::string_view kScheme = "Basic ";
  if (!http::equal_in_any_case(value.substr(0, kScheme.size()), kScheme)) return std::nullopt;
  return from_base64(value.substr(kScheme.size()));
}

std::optional<std::string> fill_credentials(const http::Header& header,
                                            const std::vector<Replacement>& replacements) {
  if (!carries_credentials(header.name)) return std::nullopt;
  if (const auto credentials = basic_credentials(header.value)) {
    if (!are_user_and_password(*credentials, replacements)) return std::nullopt;
    return "Basic " + to_base64(replaced(*credentials, replacements));
  }
  if (!ends_with_one(header.value, replacements)) return std::nullopt;
  return replaced(header.value, replacements);
}

}  // namespace nutshell::egress
