#include "backends/native/filters/landlock.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "base/file.h"
#include "base/unique_fd.h"

// Missing in the kernel headers of some distributions that we build on.
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif
#ifndef LANDLOCK_ACCESS_FS_IOCTL_DEV
#define LANDLOCK_ACCESS_FS_IOCTL_DEV (1ULL << 15)
#endif
#ifndef LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
#define LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET (1ULL << 0)
#endif
#ifndef LANDLOCK_SCOPE_SIGNAL
#define LANDLOCK_SCOPE_SIGNAL (1ULL << 1)
#endif

namespace nutshell {
namespace {

using Access = std::uint64_t;

// landlock_ruleset_attr of version 6. An older kernel takes a longer structure whose tail is zero.
struct RulesetAttributes {
  Access handled_files;
  Access handled_network;
  std::uint64_t scoped;
};

constexpr Access kRead =
    LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr Access kDevices = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE |
                            LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_IOCTL_DEV;
constexpr Access kNotInWritable =
    LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_IOCTL_DEV;
constexpr Access kNotInHidden = LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_IOCTL_DEV;
// The rights that a rule on something other than a directory may name.
constexpr Access kOfFiles = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE |
                            LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_TRUNCATE |
                            LANDLOCK_ACCESS_FS_IOCTL_DEV;

// Every right that a version knows.
Access known_access(int abi) {
  constexpr Access kFirstVersion = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1U) - 1;
  Access access = kFirstVersion;
  if (abi >= 2) access |= LANDLOCK_ACCESS_FS_REFER;
  if (abi >= 3) access |= LANDLOCK_ACCESS_FS_TRUNCATE;
  if (abi >= 5) access |= LANDLOCK_ACCESS_FS_IOCTL_DEV;
  return access;
}

int create_ruleset(const RulesetAttributes* attributes, std::size_t size, unsigned flags) {
  return static_cast<int>(::syscall(SYS_landlock_create_ruleset, attributes, size, flags));
}

long add_rule(int ruleset, const landlock_path_beneath_attr& rule) {
  return ::syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0U);
}

long restrict_self(int ruleset) {
  return ::syscall(SYS_landlock_restrict_self, ruleset, 0U);
}

Result<> allow_directory(const UniqueFd& ruleset, int directory, Access access) {
  landlock_path_beneath_attr rule{};
  rule.allowed_access = access;
  rule.parent_fd = directory;
  if (add_rule(ruleset.get(), rule) != 0) return syscall_failure("add landlock rule");
  return {};
}

Result<> allow_beneath(const UniqueFd& ruleset, const std::string& path, Access access) {
  const UniqueFd target = TRY(open_at(AT_FDCWD, path.c_str(), O_PATH | O_NOFOLLOW));
  struct stat status {};
  if (::fstat(target.get(), &status) != 0) return syscall_failure("stat", path);
  if (S_ISLNK(status.st_mode)) {
    return failure(ErrorCode::InvalidArgument, "landlock rule on a symbolic link: " + path);
  }
  if (!S_ISDIR(status.st_mode)) access &= kOfFiles;
  auto allowed = allow_directory(ruleset, target.get(), access);
  return allowed ? std::move(allowed) : while_doing(path, std::move(allowed).error());
}

}  // namespace

int landlock_abi() {
  const int version = create_ruleset(nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return version > 0 ? version : 0;
}

Result<UniqueFd> make_path_rules(const PathRules& rules) {
  const int abi = landlock_abi();
  if (abi == 0) return failure(ErrorCode::Unsupported, "this kernel has no Landlock");
  const Access known = known_access(abi);
  RulesetAttributes attributes{.handled_files = known, .handled_network = 0, .scoped = 0};
  if (abi >= 6) attributes.scoped = LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | LANDLOCK_SCOPE_SIGNAL;
  UniqueFd ruleset(create_ruleset(&attributes, sizeof attributes, 0));
  if (!ruleset) return syscall_failure("create landlock ruleset");

  TRY(allow_beneath(ruleset, "/", kRead));
  for (const std::string& path : rules.writable) {
    TRY(allow_beneath(ruleset, path, known & ~kNotInWritable));
  }
  for (const std::string& path : rules.devices) {
    TRY(allow_beneath(ruleset, path, known & kDevices));
  }
  for (const int directory : rules.hidden_writable) {
    TRY(allow_directory(ruleset, directory, known & ~kNotInHidden));
  }
  for (const int directory : rules.hidden_readable) {
    TRY(allow_directory(ruleset, directory, kRead));
  }
  for (const int directory : rules.mounted_later) {
    TRY(allow_directory(ruleset, directory, known & ~kNotInWritable));
  }
  return ruleset;
}

Result<> restrict_by(const UniqueFd& rules) {
  if (restrict_self(rules.get()) != 0) return syscall_failure("restrict by landlock");
  return {};
}

Result<> restrict_paths(const PathRules& rules) {
  return restrict_by(TRY(make_path_rules(rules)));
}

}  // namespace nutshell
