#include "audit/redactor.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "audit/json_text.h"

namespace nutshell::audit {
namespace {

constexpr std::size_t kLeastSecret = 5;  // a shorter value occurs in ordinary text
constexpr std::size_t kLeastOpaque = 32;
constexpr std::size_t kNone = std::string_view::npos;

struct Shape {
  std::string_view prefix;
  std::size_t least;  // whole length
};
constexpr std::array<Shape, 19> kShapes = {{
    {"ghp_", 20},        {"gho_", 20},   {"ghs_", 20},  {"ghu_", 20},     {"ghr_", 20},
    {"github_pat_", 24}, {"glpat-", 20}, {"sk-", 20},   {"sk_live_", 16}, {"sk_test_", 16},
    {"rk_live_", 16},    {"xoxb-", 16},  {"xoxp-", 16}, {"xoxa-", 16},    {"AKIA", 20},
    {"ASIA", 20},        {"AIza", 30},   {"npm_", 20},  {"eyJ", 30},
}};

constexpr std::array<std::string_view, 13> kSecretParts = {
    "secret",  "token",   "password",  "passwd",     "passphrase",    "credential", "apikey",
    "api_key", "api-key", "accesskey", "access_key", "authorization", "cookie"};

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
}
bool is_token_character(char c) {
  return is_word(c) || c == '.' || c == '+' || c == '=' || c == '~';
}

std::string lower(std::string_view text) {
  std::string small(text);
  std::transform(small.begin(), small.end(), small.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return small;
}

template <typename Is>
std::size_t run_end(std::string_view text, std::size_t from, Is is) {
  while (from < text.size() && is(text[from]))
    ++from;
  return from;
}

// A long run of letters of both cases and digits, which people do not write. Hexadecimal hashes are
// not secrets.
bool is_opaque(std::string_view run) {
  if (run.size() < kLeastOpaque || run.find_first_of("._-") != kNone) return false;
  const auto has = [run](int (*is)(int)) {
    return std::any_of(run.begin(), run.end(), [is](unsigned char c) { return is(c) != 0; });
  };
  return has(std::isupper) && has(std::islower) && has(std::isdigit);
}

bool is_token(std::string_view run) {
  for (const Shape& shape : kShapes) {
    if (run.size() >= shape.least && run.starts_with(shape.prefix)) return true;
  }
  return is_opaque(run);
}

void replace_all(std::string& text, const std::string& secret) {
  if (secret.size() < kLeastSecret) return;
  for (std::size_t at = 0; (at = text.find(secret, at)) != kNone; at += kRedacted.size())
    text.replace(at, secret.size(), kRedacted);
}

// Finds the end of a "-----BEGIN … PRIVATE KEY-----" block, or of the text.
std::size_t private_key_end(std::string_view text, std::size_t at) {
  constexpr std::string_view kBegin = "-----BEGIN ";
  constexpr std::string_view kEnd = "-----END ";
  if (!text.substr(at).starts_with(kBegin)) return kNone;
  const std::size_t title = text.find("PRIVATE KEY-----", at);
  if (title == kNone || title > at + 64) return kNone;
  const std::size_t end = text.find(kEnd, title);
  if (end == kNone) return text.size();
  const std::size_t close = text.find("-----", end + kEnd.size());
  return close == kNone ? text.size() : close + 5;
}

// Finds the password in "://user:password@".
bool url_password(std::string_view text, std::size_t at, std::size_t& begin, std::size_t& end) {
  if (!text.substr(at).starts_with("://")) return false;
  const std::size_t stop = text.find_first_of("/ \t\n\"'?#", at + 3);
  const std::string_view authority = text.substr(at + 3, std::min(stop, text.size()) - at - 3);
  const std::size_t host = authority.rfind('@');
  const std::size_t colon = authority.find(':');
  if (host == kNone || colon == kNone || colon > host) return false;
  begin = at + 3 + colon + 1;
  end = at + 3 + host;
  return begin < end;
}

}  // namespace

bool Redactor::is_secret_name(std::string_view name) const {
  while (name.starts_with('-'))
    name.remove_prefix(1);
  if (std::find(names_.begin(), names_.end(), name) != names_.end()) return true;
  if (name.size() < 3 || name.size() > 128) return false;
  const std::string small = lower(name);
  if (small.ends_with("_key") || small.ends_with("-key") || small.ends_with("_pass")) return true;
  return std::any_of(kSecretParts.begin(), kSecretParts.end(),
                     [&small](std::string_view part) { return small.find(part) != kNone; });
}

std::vector<std::string> Redactor::secrets_of(const std::vector<std::string>& environment) const {
  std::vector<std::string> secrets;
  for (const std::string& variable : environment) {
    const std::size_t equals = variable.find('=');
    if (equals == std::string::npos || !is_secret_name(variable.substr(0, equals))) continue;
    if (variable.size() - equals - 1 >= kLeastSecret)
      secrets.push_back(variable.substr(equals + 1));
  }
  // The longest first, because one secret may be the beginning of another.
  std::sort(secrets.begin(), secrets.end(),
            [](const auto& a, const auto& b) { return a.size() > b.size(); });
  return secrets;
}

// Returns where the value begins in name=value, name: value, "name":"value", name: Bearer value.
std::size_t Redactor::named_value(std::string_view text, std::size_t word, std::size_t word_end,
                                  std::size_t& end) const {
  const auto is_gap = [](char c) { return c == ' ' || c == '\t'; };
  const auto is_quote = [](char c) { return c == '"' || c == '\'' || c == '\\'; };
  std::size_t at = run_end(text, run_end(text, word_end, is_quote), is_gap);
  if (at >= text.size() || (text[at] != '=' && text[at] != ':')) return kNone;
  if (text.substr(at).starts_with("://")) return kNone;
  if (!is_secret_name(text.substr(word, word_end - word))) return kNone;
  at = run_end(text, at + 1, is_gap);
  const bool is_quoted = at < text.size() && is_quote(text[at]);
  at = run_end(text, at, is_quote);
  for (const std::string_view scheme : {"Bearer ", "Basic ", "bearer ", "basic "}) {
    if (text.substr(at).starts_with(scheme)) at += scheme.size();
  }
  end = run_end(text, at, [is_quoted](char c) {
    if (is_quoted) return c != '"' && c != '\'' && c != '\\' && c != '\n';
    return std::isspace(static_cast<unsigned char>(c)) == 0 && c != '&' && c != ';' && c != ',' &&
           c != '"' && c != '\'';
  });
  return at < end ? at : kNone;
}

std::string Redactor::redact(std::string_view text, const std::vector<std::string>& secrets) const {
  std::string source(text);
  for (const std::string& secret : secrets) {
    replace_all(source, secret);
    // The text may be JSON or contain some.
    std::string escaped;
    append_json(escaped, secret);
    replace_all(source, escaped.substr(1, escaped.size() - 2));
  }
  text = source;
  std::string clean;
  clean.reserve(text.size());
  std::size_t done = 0;
  const auto hide = [&](std::size_t begin, std::size_t end) {
    clean += text.substr(done, begin - done);
    clean += kRedacted;
    done = end;
  };
  for (std::size_t at = 0; at < text.size();) {
    std::size_t begin = at;
    std::size_t end = at;
    if (const std::size_t key_end = private_key_end(text, at); key_end != kNone) {
      hide(at, key_end);
      at = key_end;
    } else if (url_password(text, at, begin, end)) {
      hide(begin, end);
      at = end;
    } else if (!is_word(text[at])) {
      ++at;
    } else if (const auto run = run_end(text, at, is_token_character);
               is_token(text.substr(at, run - at))) {
      hide(at, run);
      at = run;
    } else {
      const std::size_t word_end = run_end(text, at, is_word);
      begin = named_value(text, at, word_end, end);
      if (begin != kNone) hide(begin, end);
      at = begin != kNone ? end : word_end;
    }
  }
  clean += text.substr(done);
  return clean;
}

std::string Redactor::redact_list(const std::vector<std::string>& words,
                                  const std::vector<std::string>& secrets) const {
  std::string json = "[";
  bool is_secret = false;
  for (const std::string& word : words) {
    if (json.size() > 1) json += ',';
    append_json(json, is_secret ? std::string(kRedacted) : redact(word, secrets));
    is_secret = word.starts_with('-') && word.find('=') == kNone && is_secret_name(word);
  }
  return json + ']';
}

}  // namespace nutshell::audit
