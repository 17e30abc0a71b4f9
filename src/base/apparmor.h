// AppArmor's restriction of user namespaces: some systems allow them to plain users only in
// programs that have a profile.
#pragma once

#include <filesystem>
#include <string>

namespace nutshell {

inline constexpr const char* kUserNamespaceSwitch =
    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns";

// Whether plain users' programs need a profile here.
bool needs_apparmor_profile(const std::filesystem::path& file = kUserNamespaceSwitch);

// A profile that lets the programs in this directory make user namespaces, and restricts nothing.
std::string apparmor_profile(const std::filesystem::path& programs);

}  // namespace nutshell
