// Which client a request is counted for. The head of the request decides it, before any of the body
// is read or kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "http/message.h"
#include "http/remote.h"

namespace nutshell::http {

enum class CallerKind : std::uint8_t {
  Stranger,  // without a valid token: its head is read and answered, its body never read
  Tenant,    // has a token or certificate
  Owner,     // the user whose server this is, on its Unix socket
};

struct Admission {
  CallerKind caller_kind = CallerKind::Owner;
  std::string holder = {};  // the tenant whose workers, connections and memory it uses
  std::string who = {};     // name of the token or certificate

  friend bool operator==(const Admission&, const Admission&) = default;
};

using Admit = std::function<Admission(const RequestHead&, const Remote&)>;

// How a bounded resource is divided among its holders.
struct FairBounds {
  std::size_t all = 0;   // for all holders together
  std::size_t one = 0;   // for one holder
  std::size_t kept = 0;  // reserved for each holder

  [[nodiscard]] bool allow(std::size_t own, std::size_t total, std::size_t more) const {
    if (own + more <= kept) return true;
    return own + more <= one && total + more <= all;
  }
};

}  // namespace nutshell::http
