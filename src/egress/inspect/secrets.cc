#include "egress/inspect/secrets.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/random_id.h"
#include "egress/inspect/credential_header.h"
#include "egress/inspect/secret_forms.h"

namespace nutshell::egress {
namespace {

constexpr std::size_t kLeastValueBytes = 8;

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string json_escaped(std::string_view text) {
  std::string escaped;
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') escaped += '\\';
    escaped += letter;
  }
  return escaped;
}

bool holds_placeholder(const http::Header& header, const std::string& placeholder) {
  return contains(header.value, placeholder) ||
         contains(basic_credentials(header.value).value_or(""), placeholder);
}

// Names of the secrets whose placeholders are in the header.
std::vector<std::string> held_by(const http::Header& header, const std::vector<Secret>& secrets) {
  std::vector<std::string> names;
  for (const Secret& secret : secrets) {
    if (holds_placeholder(header, secret.placeholder)) names.push_back(secret.name);
  }
  return names;
}

bool mentions(const GateRequest& request, const std::string& placeholder) {
  return contains(request.target, placeholder) ||
         std::any_of(request.headers.begin(), request.headers.end(),
                     [&](const auto& header) { return holds_placeholder(header, placeholder); });
}

bool is_compressed(const http::Header& header) {
  return http::equal_in_any_case(header.name, "Content-Encoding") &&
         !http::equal_in_any_case(header.value, "identity") && !header.value.empty();
}

http::Headers without(const http::Headers& headers, std::initializer_list<std::string_view> names) {
  http::Headers kept;
  for (const http::Header& header : headers) {
    const bool is_dropped = std::any_of(names.begin(), names.end(), [&](std::string_view name) {
      return http::equal_in_any_case(name, header.name);
    });
    if (!is_dropped) kept.add(header.name, header.value);
  }
  return kept;
}

// The value as it has to stand in a body of this type.
std::string value_for(std::string_view content_type, const std::string& value) {
  if (contains(content_type, "json")) return json_escaped(value);
  if (contains(content_type, "x-www-form-urlencoded")) return http::percent_encode(value);
  return value;
}

}  // namespace

std::string new_placeholder(std::string_view name) {
  std::string letters;
  for (const char letter : name) {
    const bool is_plain = (letter >= 'A' && letter <= 'Z') || (letter >= 'a' && letter <= 'z') ||
                          (letter >= '0' && letter <= '9');
    letters += is_plain ? letter : '_';
  }
  return fmt::format("nutshell_{}_{}", letters, random_id(32));
}

Result<> check_secret_value(const std::string& name, const std::string& value) {
  const bool has_control = std::any_of(value.begin(), value.end(), [](char letter) {
    return static_cast<unsigned char>(letter) < ' ' || letter == '\x7f';
  });
  if (has_control) {
    return failure(ErrorCode::InvalidArgument,
                   fmt::format("The secret {} has a line break or another control character, which "
                               "cannot be sent in a header.",
                               name));
  }
  if (value.size() < kLeastValueBytes) {
    return failure(ErrorCode::InvalidArgument,
                   fmt::format("The secret {} is shorter than {} characters, so it could not be "
                               "told from other text in answers.",
                               name, kLeastValueBytes));
  }
  return {};
}

SecretUse::SecretUse(const std::vector<Secret>& secrets, GateRequest& request) {
  constexpr std::uint16_t kHttps = 443;
  std::vector<Secret> fit;
  for (const Secret& secret : secrets) {
    for (std::string& form : forms_of(secret.value))
      to_placeholders_.emplace_back(std::move(form), secret.placeholder);
    const std::string& host = request.named.host;
    const std::uint16_t port = request.named.port;
    if (secret.applies(host, port) || secret.applies(host, kHttps)) goes_to_their_host_ = true;
    if (request.named.scheme == "https" && secret.applies(host, port)) {
      fit.push_back(secret);
    } else if (mentions(request, secret.placeholder)) {
      misplaced_.push_back(secret.name);
    }
  }
  put_in_headers(fit, request);
  put_in_query(fit, request);
  put_in_body(fit, request);
  if (!goes_to_their_host_) return;
  // A compressed answer cannot be searched, and a part of an answer could hold a part of a value.
  request.headers = without(request.headers, {"Accept-Encoding", "Range", "If-Range"});
  request.headers.add("Accept-Encoding", "identity");
}

void SecretUse::put_in_headers(const std::vector<Secret>& secrets, GateRequest& request) {
  std::vector<Replacement> to_value;
  to_value.reserve(secrets.size());
  for (const Secret& secret : secrets)
    to_value.emplace_back(secret.placeholder, secret.value);
  http::Headers changed;
  for (const http::Header& header : request.headers) {
    const auto held = held_by(header, secrets);
    auto filled = held.empty() ? std::nullopt : fill_credentials(header, to_value);
    if (filled) {
      note_use(held);
    } else if (!held.empty()) {
      unfit_headers_.push_back(header.name);
    }
    changed.add(header.name, filled ? *std::move(filled) : header.value);
  }
  request.headers = std::move(changed);
}

void SecretUse::put_in_query(const std::vector<Secret>& secrets, GateRequest& request) {
  const std::size_t query = request.target.find('?');
  if (query == std::string::npos) return;
  std::vector<Replacement> to_value;
  for (const Secret& secret : secrets) {
    if (!secret.is_in_query || !contains(request.target.substr(query), secret.placeholder))
      continue;
    to_value.emplace_back(secret.placeholder, http::percent_encode(secret.value));
    note_use({secret.name});
  }
  request.target = request.target.substr(0, query) +
                   replaced(std::string_view(request.target).substr(query), to_value);
}

void SecretUse::put_in_body(const std::vector<Secret>& secrets, const GateRequest& request) {
  const std::string_view type = request.headers.get("Content-Type");
  for (const Secret& secret : secrets) {
    if (secret.is_in_body) body_.emplace_back(secret.placeholder, value_for(type, secret.value));
  }
}

void SecretUse::note_use(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (std::find(used_.begin(), used_.end(), name) == used_.end()) used_.push_back(name);
  }
}

Result<> SecretUse::take_head(http::ResponseHead& head, std::string& reason) {
  using enum StreamReplacer::Case;
  http::Headers changed;
  for (const http::Header& header : head.headers) {
    if (goes_to_their_host_ && is_compressed(header)) {
      return failure(ErrorCode::Corrupt,
                     fmt::format("The server compressed its answer ({}) against the request. "
                                 "Answers of hosts of secrets have to be readable on the host.",
                                 header.value));
    }
    changed.add(replaced(header.name, to_placeholders_, Any),
                replaced(header.value, to_placeholders_, Any));
  }
  head.headers = std::move(changed);
  reason = replaced(reason, to_placeholders_, Any);
  answer_.emplace(to_placeholders_, Any);
  return {};
}

std::string SecretUse::take_part(std::string_view bytes) {
  return answer_->take(bytes);
}

std::string SecretUse::take_end() {
  return answer_->end();
}

}  // namespace nutshell::egress
