#include "init/exec/payload_filter.h"

namespace nutshell {
namespace {

constexpr sock_filter kFree[] = {
#include "payload.seccomp.inc"
};

constexpr sock_filter kPinned[] = {
#include "payload_pinned.seccomp.inc"
};

constexpr sock_filter kWatched[] = {
#include "payload_watched.seccomp.inc"
};

constexpr sock_filter kResident[] = {
#include "payload_resident.seccomp.inc"
};

}  // namespace

std::span<const sock_filter> payload_filter(PayloadRules rules) {
  switch (rules) {
    case PayloadRules::Pinned:
      return kPinned;
    case PayloadRules::Watched:
      return kWatched;
    case PayloadRules::Resident:
      return kResident;
    case PayloadRules::Free:
      break;
  }
  return kFree;
}

}  // namespace nutshell
