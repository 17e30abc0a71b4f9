// Tells registries of this machine and of private networks from those of the internet. A pull for a
// tenant is a request from where the engine runs, so an address that only this side can reach would
// let the tenant look for services there.
#pragma once

#include <string_view>

namespace nutshell::service {

// Judges the spelling of a registry, HOST[:PORT], without asking for its addresses.
bool is_internal_registry(std::string_view registry);

}  // namespace nutshell::service
