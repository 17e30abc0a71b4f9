#include "init/payload_filter.h"

namespace nutshell {
namespace {

constexpr sock_filter kFree[] = {
#include "payload.seccomp.inc"
};

constexpr sock_filter kPinned[] = {
#include "payload_pinned.seccomp.inc"
};

}  // namespace

std::span<const sock_filter> payload_filter(CpuPinning pinning) {
  if (pinning == CpuPinning::Pinned) return kPinned;
  return kFree;
}

}  // namespace nutshell
