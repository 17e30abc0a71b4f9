// Tokens and client certificates. The token of a service account, and what a credential plugin
// prints, are replaced while we run: they are renewed in time.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "backends/kubernetes/client/access.h"
#include "base/deadline.h"
#include "base/result.h"

namespace nutshell::kubernetes {

struct Credential {
  std::string token;  // empty: none
  std::string certificate;
  std::string key;
  bool operator==(const Credential&) const = default;
};

// Not thread-safe.
class Credentials {
 public:
  virtual ~Credentials() = default;
  virtual Result<Credential> current(const Deadline& deadline) = 0;
  // Called when the server refused the last one: the next is a new one, if there can be one.
  virtual void renew() = 0;
};

// Tells the time to credentials with an end; tests set their own.
using WallClock = std::function<std::chrono::system_clock::time_point()>;
std::unique_ptr<Credentials> make_credentials(
    const Access& access, WallClock now = [] { return std::chrono::system_clock::now(); });

}  // namespace nutshell::kubernetes
