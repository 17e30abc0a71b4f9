#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "entry_points.h"
#include "init/network/proxy_handshake.h"

namespace nutshell::fuzz {
namespace {

void check_target(init::ProxyHandshake& handshake) {
  if (handshake.name().empty() == handshake.address().empty()) std::abort();
  const std::string& name = handshake.name();
  if (std::any_of(name.begin(), name.end(), [](char c) { return c <= ' ' || c == ':'; }))
    std::abort();
  (void)handshake.first_bytes();
  (void)handshake.success();
  (void)handshake.failure(ECONNREFUSED, true, "no");
}

}  // namespace

// The first byte is the number of bytes that arrive at a time.
void fuzz_proxy(std::string_view input) {
  using Step = init::ProxyHandshake::Step;
  if (input.empty()) return;
  const std::size_t step = 1U + static_cast<unsigned char>(input[0]);
  input.remove_prefix(1);
  init::ProxyHandshake handshake;
  while (!input.empty()) {
    const std::string_view part = input.substr(0, step);
    input.remove_prefix(part.size());
    const Step taken = handshake.take(part);
    (void)handshake.reply();
    if (taken == Step::Failed) return;
    if (taken == Step::IsReady) return check_target(handshake);
  }
}

}  // namespace nutshell::fuzz
