#include "egress/inspect/secrets.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/base64.h"
#include "base/random_id.h"

namespace nutshell::egress {
namespace {

constexpr std::size_t kLeastValueBytes = 6;

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

http::Headers with_values(const http::Headers& headers,
                          const std::function<std::string(const http::Header&)>& change) {
  http::Headers changed;
  for (const http::Header& header : headers)
    changed.add(header.name, change(header));
  return changed;
}

// The credentials of "Basic", decoded; nullopt for any other value.
std::optional<std::string> basic_credentials(std::string_view value) {
  constexpr std::string_view kScheme = "Basic ";
  if (!http::equal_in_any_case(value.substr(0, kScheme.size()), kScheme)) return std::nullopt;
  return from_base64(value.substr(kScheme.size()));
}

bool mentions(const GateRequest& request, const std::string& placeholder) {
  if (contains(request.target, placeholder)) return true;
  return std::any_of(request.headers.begin(), request.headers.end(), [&](const auto& header) {
    return contains(header.value, placeholder) ||
           contains(basic_credentials(header.value).value_or(""), placeholder);
  });
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
  for (const Secret& secret : secrets) {
    const bool applies =
        request.named.scheme == "https" && secret.applies(request.named.host, request.named.port);
    if (applies) {
      expect_in_answer(secret);
      put_in(secret, request);
    } else if (mentions(request, secret.placeholder)) {
      misplaced_.push_back(secret.name);
    }
  }
  if (!filters_answer()) return;
  // A compressed answer cannot be searched, and a part of an answer could hold a part of a value.
  request.headers = without(request.headers, {"Accept-Encoding", "Range", "If-Range"});
  request.headers.add("Accept-Encoding", "identity");
}

void SecretUse::put_in(const Secret& secret, GateRequest& request) {
  if (mentions(request, secret.placeholder)) used_.push_back(secret.name);
  put_in_headers(secret, request);
  if (secret.is_in_query) put_in_query(secret, request);
  if (!secret.is_in_body) return;
  const std::string_view type = request.headers.get("Content-Type");
  body_.emplace_back(secret.placeholder, value_for(type, secret.value));
}

void SecretUse::put_in_headers(const Secret& secret, GateRequest& request) {
  const std::vector<Replacement> to_value = {{secret.placeholder, secret.value}};
  request.headers = with_values(request.headers, [&](const http::Header& header) {
    const auto credentials = basic_credentials(header.value);
    if (!credentials || !contains(*credentials, secret.placeholder))
      return replaced(header.value, to_value);
    const std::string filled = to_base64(replaced(*credentials, to_value));
    to_placeholders_.emplace_back(filled, to_base64(*credentials));
    return "Basic " + filled;
  });
}

void SecretUse::put_in_query(const Secret& secret, GateRequest& request) {
  const std::size_t query = request.target.find('?');
  if (query == std::string::npos) return;
  request.target = request.target.substr(0, query) +
                   replaced(std::string_view(request.target).substr(query),
                            {{secret.placeholder, http::percent_encode(secret.value)}});
}

void SecretUse::expect_in_answer(const Secret& secret) {
  to_placeholders_.emplace_back(secret.value, secret.placeholder);
  for (const std::string& form :
       {http::percent_encode(secret.value), json_escaped(secret.value), to_base64(secret.value)}) {
    if (form != secret.value) to_placeholders_.emplace_back(form, secret.placeholder);
  }
}

Result<> SecretUse::take_head(http::ResponseHead& head, std::string& reason) {
  const std::string_view encoding = head.headers.get("Content-Encoding");
  if (!encoding.empty() && !http::equal_in_any_case(encoding, "identity")) {
    return failure(ErrorCode::Corrupt,
                   fmt::format("The server compressed its answer ({}) against the request. Answers "
                               "to requests with secrets have to be readable on the host.",
                               encoding));
  }
  head.headers = with_values(head.headers, [&](const http::Header& header) {
    return replaced(header.value, to_placeholders_);
  });
  reason = replaced(reason, to_placeholders_);
  answer_.emplace(to_placeholders_);
  return {};
}

std::string SecretUse::take_part(std::string_view bytes) {
  return answer_->take(bytes);
}

std::string SecretUse::take_end() {
  return answer_->end();
}

}  // namespace nutshell::egress
