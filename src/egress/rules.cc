#include "egress/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/closest_word.h"
#include "egress/host_name.h"
#include "egress/presets.h"

namespace nutshell::egress {
namespace {

constexpr std::size_t kMostRuleBytes = 1024;
constexpr std::size_t kMostShown = 12;
constexpr std::uint16_t kHttpPort = 80;
constexpr std::uint16_t kHttpsPort = 443;

Failure refused(std::string_view text, std::string_view why) {
  return failure(ErrorCode::InvalidArgument, fmt::format("allow '{:.120}': {}", text, why));
}

bool is_one_of(char letter, std::string_view letters) {
  return letters.find(letter) != std::string_view::npos;
}

bool is_plain(char letter) {
  return letter > ' ' && letter < 0x7f;
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char letter) { return static_cast<unsigned char>(letter) < 0x80; });
}

std::string preset_names() {
  std::string names;
  for (const Preset& preset : presets())
    names += (names.empty() ? "" : ", ") + preset.name;
  return names;
}

// Splits "host:port", "[v6]:port" and "range:port"; the port is empty if there is none.
struct Target {
  std::string_view host;
  std::string_view port;
  bool has_port = false;
};

std::optional<Target> split_target(std::string_view text) {
  Target target;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    target.host = text.substr(1, end - 1);
    const std::string_view rest = text.substr(end + 1);
    if (rest.empty()) return target;
    if (rest.front() != ':') return std::nullopt;
    target.port = rest.substr(1);
    target.has_port = true;
    return target;
  }
  const std::size_t colon = text.find(':');
  target.host = text;
  const bool is_six = colon != std::string_view::npos && text.rfind(':') != colon;
  if (is_six || colon == std::string_view::npos) return target;
  target.host = text.substr(0, colon);
  target.port = text.substr(colon + 1);
  target.has_port = true;
  return target;
}

Result<> read_port(std::string_view whole, const Target& target, Rule& rule) {
  rule.ports = {kHttpsPort, kHttpPort};
  if (!target.has_port) return {};
  rule.has_own_ports = true;
  if (target.port == "*") {
    rule.ports.clear();
    return {};
  }
  std::uint16_t port = 0;
  const char* end = target.port.data() + target.port.size();
  const auto [stop, error] = std::from_chars(target.port.data(), end, port);
  if (error != std::errc() || stop != end || port == 0)
    return refused(whole, "after the ':' comes a port, 1 to 65535, or * for all");
  rule.ports = {port};
  return {};
}

Result<> read_host(std::string_view whole, std::string_view host, Rule& rule) {
  const bool looks_like_address =
      host.find(':') != std::string_view::npos || host.find('/') != std::string_view::npos ||
      (!host.empty() && std::all_of(host.begin(), host.end(),
                                    [](char letter) { return is_one_of(letter, "0123456789."); }));
  if (looks_like_address) {
    auto range = AddressRange::parse(host);
    if (!range) return refused(whole, range.error().message);
    rule.range = *range;
    return {};
  }
  if (host == "*") {
    return refused(whole,
                   "this would allow every name; if you mean that, say --network unsafe-full");
  }
  if (!is_ascii(host)) {
    return refused(whole,
                   "write the name as DNS has it, with xn-- in place of other letters than "
                   "a to z");
  }
  rule.is_wildcard = host.starts_with("*.");
  const auto name = canonical_name(rule.is_wildcard ? host.substr(2) : host);
  if (!name) {
    return refused(whole,
                   "this is neither HOST[:PORT], *.HOST, an address, a range such as "
                   "10.1.0.0/16, nor a preset");
  }
  if (*name == "localhost" || is_below(*name, "localhost")) {
    return refused(whole,
                   "localhost in a sandbox is the sandbox; for a server of this machine say "
                   "127.0.0.1:PORT");
  }
  rule.name = *name;
  return {};
}

Result<std::vector<std::string>> read_methods(std::string_view whole, std::string_view text) {
  std::vector<std::string> methods;
  if (text == "*") return methods;
  for (;;) {
    const std::size_t comma = text.find(',');
    const std::string_view method = text.substr(0, comma);
    const bool is_method = !method.empty() && method.size() <= 32 &&
                           std::all_of(method.begin(), method.end(), [](char letter) {
                             return (letter >= 'A' && letter <= 'Z') || letter == '-';
                           });
    if (!is_method) {
      return refused(whole,
                     "before the URL comes a method in capitals, as in GET or GET,HEAD, or "
                     "* for all");
    }
    methods.emplace_back(method);
    if (comma == std::string_view::npos) return methods;
    text.remove_prefix(comma + 1);
  }
}

// A path with dots, double slashes or escapes has other forms that a server takes for the same.
bool is_clear_path(std::string_view path) {
  return path.starts_with('/') && std::all_of(path.begin(), path.end(), is_plain) &&
         path.find("//") == std::string_view::npos && path.find("/.") == std::string_view::npos &&
         path.find_first_of("%\\;?#*") == std::string_view::npos;
}

Result<std::vector<Rule>> parse_request_rule(std::string_view whole) {
  Rule rule;
  RequestPattern pattern;
  std::string_view url = whole;
  if (const std::size_t space = whole.find(' '); space != std::string_view::npos) {
    pattern.methods = TRY(read_methods(whole, whole.substr(0, space)));
    url = whole.substr(space + 1);
  }
  if (url.starts_with("https://")) {
    pattern.scheme = Scheme::Https;
    url.remove_prefix(8);
  } else if (url.starts_with("http://")) {
    url.remove_prefix(7);
  } else {
    return refused(whole,
                   "a rule on requests is METHOD http://HOST/PATH* or METHOD "
                   "https://HOST/PATH*");
  }
  const std::size_t slash = std::min(url.find('/'), url.size());
  std::string_view path = url.substr(slash);
  url = url.substr(0, slash);
  if (url.find('@') != std::string_view::npos)
    return refused(whole, "a rule has no user name or password");
  const auto target = split_target(url);
  if (!target) return refused(whole, "the ']' after the address is missing");
  TRY(read_port(whole, *target, rule));
  if (!target->has_port) rule.ports = {pattern.scheme == Scheme::Https ? kHttpsPort : kHttpPort};
  TRY(read_host(whole, target->host, rule));
  if (rule.range) {
    return refused(whole,
                   "rules on requests name their host, because a request to an address does "
                   "not say whose it is");
  }
  pattern.is_beginning = path.empty() || path.ends_with('*');
  if (path.ends_with('*')) path.remove_suffix(1);
  pattern.path = path.empty() ? "/" : path;
  if (!is_clear_path(pattern.path)) {
    return refused(whole,
                   "its path begins with '/', may end with '*', and has no escapes, query, "
                   "'//' or '/.'");
  }
  rule.text = whole;
  rule.requests = std::move(pattern);
  return std::vector<Rule>{std::move(rule)};
}

Result<std::vector<Rule>> rules_of(const Preset& preset) {
  std::vector<Rule> all;
  for (const std::string& text : preset.rules) {
    for (Rule& rule : TRY(parse_rule(text))) {
      rule.text = preset.name;
      all.push_back(std::move(rule));
    }
  }
  return all;
}

// "//", "/./", "/../" and escapes of them mean something to servers that a beginning does not show.
bool has_one_form(std::string_view path) {
  path = path.substr(0, path.find('?'));
  if (path.empty() || path.front() != '/' || path.find("//") != std::string_view::npos ||
      path.find('\\') != std::string_view::npos) {
    return false;
  }
  for (std::size_t at = path.find("/."); at != std::string_view::npos;
       at = path.find("/.", at + 1)) {
    const std::string_view rest = path.substr(at + 2);
    if (rest.empty() || rest.front() == '/' || rest.front() == ';' || rest == "." ||
        rest.starts_with("./") || rest.starts_with(".;")) {
      return false;
    }
  }
  for (std::size_t at = path.find('%'); at != std::string_view::npos; at = path.find('%', at + 1)) {
    const std::string_view code = path.substr(at + 1, 2);
    for (const std::string_view hidden : {"2e", "2E", "2f", "2F", "5c", "5C", "00", "25"}) {
      if (code == hidden) return false;
    }
  }
  return true;
}

}  // namespace

bool RequestPattern::matches(const RequestView& request) const {
  if (request.scheme != (scheme == Scheme::Https ? "https" : "http")) return false;
  if (!methods.empty() &&
      std::find(methods.begin(), methods.end(), request.method) == methods.end())
    return false;
  if (is_beginning && path == "/") return true;
  if (!has_one_form(request.path)) return false;
  const std::string_view asked = request.path.substr(0, request.path.find('?'));
  return is_beginning ? asked.starts_with(path) : asked == path;
}

bool Rule::matches_name(std::string_view canonical) const {
  if (range) return false;
  return is_wildcard ? is_below(canonical, name) : canonical == name;
}

bool Rule::matches_port(std::uint16_t port) const {
  return ports.empty() || std::find(ports.begin(), ports.end(), port) != ports.end();
}

Result<std::vector<Rule>> parse_rule(std::string_view text) {
  if (text.empty()) return refused(text, "a rule is not empty");
  if (text.size() > kMostRuleBytes) return refused(text, "a rule has at most 1024 bytes");
  if (text.find('\0') != std::string_view::npos) return refused(text, "a rule has no zero byte");
  if (const Preset* preset = find_preset(text)) return rules_of(*preset);
  if (text.find(' ') != std::string_view::npos || text.find("://") != std::string_view::npos)
    return parse_request_rule(text);
  const auto target = split_target(text);
  if (!target) return refused(text, "the ']' after the address is missing");
  const bool is_one_word =
      !target->has_port && text.find_first_of(".:/*[") == std::string_view::npos && is_ascii(text);
  if (is_one_word && text != "localhost") {
    std::vector<std::string> names;
    for (const Preset& preset : presets())
      names.push_back(preset.name);
    const std::string meant = closest_word(text, names);
    return refused(text, fmt::format("there is no such preset{}; the presets are {}. A host whose "
                                     "name has no dot needs a port, as in {}:443",
                                     meant.empty() ? "" : fmt::format(", did you mean {}?", meant),
                                     preset_names(), text));
  }
  Rule rule;
  rule.text = text;
  if (text.starts_with('[') && !Address::parse(target->host))
    return refused(text, "between '[' and ']' is an IPv6 address");
  TRY(read_port(text, *target, rule));
  TRY(read_host(text, target->host, rule));
  return std::vector<Rule>{std::move(rule)};
}

Result<RuleList> RuleList::parse(const std::vector<std::string>& texts) {
  RuleList list;
  for (const std::string& text : texts) {
    std::vector<Rule> rules = TRY(parse_rule(text));
    std::move(rules.begin(), rules.end(), std::back_inserter(list.rules_));
    list.texts_.push_back(text);
  }
  return list;
}

bool RuleList::names(std::string_view canonical) const {
  return std::any_of(rules_.begin(), rules_.end(),
                     [&](const Rule& rule) { return rule.matches_name(canonical); });
}

bool RuleList::has_address(const Address& address) const {
  return std::any_of(rules_.begin(), rules_.end(),
                     [&](const Rule& rule) { return rule.range && rule.range->contains(address); });
}

bool RuleList::allows_address(const Address& address, std::uint16_t port) const {
  return std::any_of(rules_.begin(), rules_.end(), [&](const Rule& rule) {
    return rule.range && rule.range->contains(address) && rule.matches_port(port);
  });
}

RuleList::Grant RuleList::grant_of(std::string_view canonical, std::uint16_t port) const {
  Grant best = Grant::None;
  for (const Rule& rule : rules_) {
    if (!rule.matches_name(canonical) || !rule.matches_port(port)) continue;
    const bool is_web_port = port == kHttpPort || port == kHttpsPort;
    Grant grant = rule.has_own_ports && !is_web_port ? Grant::Any : Grant::Web;
    if (rule.requests) grant = Grant::Requests;
    best = std::max(best, grant);
  }
  return best;
}

bool RuleList::allows_request(const RequestView& request) const {
  const auto name = canonical_name(request.host);
  if (!name) return false;
  return std::any_of(rules_.begin(), rules_.end(), [&](const Rule& rule) {
    return rule.matches_name(*name) && rule.matches_port(request.port) &&
           (!rule.requests || rule.requests->matches(request));
  });
}

bool RuleList::needs_inspection() const {
  return std::any_of(rules_.begin(), rules_.end(), [](const Rule& rule) {
    return rule.requests && rule.requests->scheme == Scheme::Https;
  });
}

std::string RuleList::summary() const {
  std::string text;
  for (std::size_t index = 0; index < texts_.size(); ++index) {
    if (index == kMostShown) return fmt::format("{} and {} more", text, texts_.size() - index);
    text += (text.empty() ? "" : ", ") + texts_[index];
  }
  return text;
}

}  // namespace nutshell::egress
