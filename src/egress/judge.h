// Decides by a network policy what a sandbox may look up, connect to and say. Pure: it knows no
// socket, and is told which names led to an address.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/network_policy.h"
#include "egress/address.h"
#include "egress/first_bytes.h"
#include "egress/rules.h"

namespace nutshell::egress {

// The answer to a connection.
struct Judgement {
  enum class Way : std::uint8_t {
    Refused,
    Silent,   // refused like a port on which nobody listens, because nothing was forbidden
    Free,     // an address rule allows it: whatever is said
    ByNames,  // `names` allow it: the first bytes have to mean one of them
  };
  Way way = Way::Refused;
  std::vector<std::string> names;
  RuleList::Grant grant = RuleList::Grant::None;  // the best of those names
  std::string host;                               // for reports: the name, or the address
  std::string reason;                             // of a refusal
  std::string rule;  // that allows it; of a refusal, the narrowest that would

  [[nodiscard]] bool is_allowed() const { return way == Way::Free || way == Way::ByNames; }
};

// The answer to the first bytes of a connection that names allow.
struct Content {
  enum class Way : std::uint8_t {
    Incomplete,
    Plain,  // carried as it is
    Http,   // every request is checked
    Tls,    // carried as it is, or inspected
    Refused,
  };
  Way way = Way::Incomplete;
  std::string name;  // the server that the client means
  std::string reason;
};

class Judge {
 public:
  static Result<Judge> create(const NetworkPolicy& policy);

  [[nodiscard]] const NetworkPolicy& policy() const { return policy_; }
  [[nodiscard]] bool is_inspecting() const { return policy_.tls == TlsMode::Inspect; }

  // Names are canonical.
  [[nodiscard]] bool may_look_up(const std::string& name) const;
  [[nodiscard]] std::string why_no_look_up(const std::string& name) const;
  // Whether a name may lead there.
  [[nodiscard]] bool may_lead_to(const Address& address) const;
  [[nodiscard]] std::string why_not_lead_to(const std::string& name, const Address& address) const;

  [[nodiscard]] Judgement judge(const Address& address, std::uint16_t port,
                                const std::vector<std::string>& names) const;
  [[nodiscard]] Judgement judge_name(const std::string& name, std::uint16_t port) const;
  [[nodiscard]] Content judge_content(const FirstBytes& bytes, const Judgement& connection,
                                      std::uint16_t port) const;
  [[nodiscard]] bool allows_request(const RequestView& request) const;
  // Whether the host has downloads of this server, so that it is of use although nobody can say
  // where it is.
  [[nodiscard]] bool keeps_downloads_of(const std::string& name) const;
  // "; allowed are pypi, example.org"
  [[nodiscard]] std::string allowed_text() const;

 private:
  Judge(NetworkPolicy policy, RuleList rules)
      : policy_(std::move(policy)), rules_(std::move(rules)) {}
  [[nodiscard]] bool is_full() const { return policy_.mode == NetworkMode::UnsafeFull; }

  NetworkPolicy policy_;
  RuleList rules_;
};

// The address by which a sandbox connects to a server of kept downloads whose own address is not
// known. Nothing is ever sent there.
const Address& stand_in_address();

// The ports that a rule for a name allows if it names none.
bool is_default_port(std::uint16_t port);

// "example.org:443", "[2001:db8::1]:443"
std::string host_and_port(const std::string& host, std::uint16_t port);

}  // namespace nutshell::egress
