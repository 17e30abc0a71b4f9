// The rules of a network policy: which names, addresses and requests a sandbox may reach. Parsing
// refuses everything that it does not understand, because a rule that is read in another way than
// its writer meant is a hole.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "egress/address.h"

namespace nutshell::egress {

enum class Scheme : std::uint8_t { Http, Https };

// One request, as the host reads it.
struct RequestView {
  std::string_view method;
  std::string_view scheme;  // "http" or "https"
  std::string_view host;    // as the request named it, without the port
  std::string_view path;    // of the request line, from '/' on
  std::uint16_t port = 0;
};

// Restricts a rule to some requests.
struct RequestPattern {
  Scheme scheme = Scheme::Http;
  std::vector<std::string> methods;  // empty: all
  std::string path;
  bool is_beginning = false;  // of paths, or the one path

  [[nodiscard]] bool matches(const RequestView& request) const;
};

struct Rule {
  std::string text;                   // as its writer gave it; the name of the preset it is from
  std::optional<AddressRange> range;  // else a name
  std::string name;                   // canonical
  bool is_wildcard = false;           // all names below `name`, and not `name` itself
  std::vector<std::uint16_t> ports;   // empty: all
  bool has_own_ports = false;         // its writer named the port
  std::optional<RequestPattern> requests;

  [[nodiscard]] bool matches_name(std::string_view canonical) const;
  [[nodiscard]] bool matches_port(std::uint16_t port) const;
};

// Returns the rules that one text stands for: one, or those of a preset.
Result<std::vector<Rule>> parse_rule(std::string_view text);

class RuleList {
 public:
  static Result<RuleList> parse(const std::vector<std::string>& texts);

  [[nodiscard]] const std::vector<Rule>& rules() const { return rules_; }
  // Whether some rule is about this name, so that its addresses may be asked for.
  [[nodiscard]] bool names(std::string_view canonical) const;
  // Whether an address rule has this address, with whatever port.
  [[nodiscard]] bool has_address(const Address& address) const;
  [[nodiscard]] bool allows_address(const Address& address, std::uint16_t port) const;
  // How connections to this name and port are allowed.
  enum class Grant : std::uint8_t {
    None,
    Requests,  // HTTP requests that some rule matches
    Web,       // TLS to that name, and HTTP whose Host is that name
    Any,       // the same, and every other protocol, because a rule names the port
  };
  [[nodiscard]] Grant grant_of(std::string_view canonical, std::uint16_t port) const;
  [[nodiscard]] bool allows_request(const RequestView& request) const;
  // Whether a rule can be kept only by reading requests inside TLS.
  [[nodiscard]] bool needs_inspection() const;
  // "pypi, *.example.org, 10.0.0.0/8:5432 and 3 more", for refusals.
  [[nodiscard]] std::string summary() const;

 private:
  std::vector<Rule> rules_;
  std::vector<std::string> texts_;
};

}  // namespace nutshell::egress
