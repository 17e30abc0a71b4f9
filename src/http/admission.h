// Whom a request counts against, as its head alone proves it: decided before any of its body is
// read or kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "http/message.h"
#include "http/remote.h"

namespace nutshell::http {

enum class Standing : std::uint8_t {
  Stranger,  // has proved nothing: costs a head and an answer, never a body
  Tenant,    // has a token or certificate
  Owner,     // the user whose server this is, on its Unix socket
};

struct Admission {
  Standing standing = Standing::Owner;
  std::string holder = {};  // whose workers, connections and memory it takes: a tenant
  std::string who = {};     // the token or certificate that proved it

  friend bool operator==(const Admission&, const Admission&) = default;
};

using Admit = std::function<Admission(const RequestHead&, const Remote&)>;

// How much of something bounded one holder may have beside all others.
struct FairBounds {
  std::size_t all = 0;   // of all holders together
  std::size_t one = 0;   // of one holder
  std::size_t kept = 0;  // that each holder can have whatever the others have

  [[nodiscard]] bool allow(std::size_t own, std::size_t total, std::size_t more) const {
    if (own + more <= kept) return true;
    return own + more <= one && total + more <= all;
  }
};

}  // namespace nutshell::http
