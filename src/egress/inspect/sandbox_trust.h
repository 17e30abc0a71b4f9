// Files and variables by which the programs of a sandbox come to trust its own authority, besides
// those that the host trusts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace nutshell::egress {

struct TrustFile {
  std::string name;
  std::string bytes;
};

struct SandboxTrust {
  std::vector<TrustFile> files;          // readable by everybody; nothing in them is secret
  std::vector<std::string> environment;  // "NAME=value"
};

// `directory` is where the files will be inside the sandbox. Both others are PEM.
Result<SandboxTrust> trust_in_sandbox(const std::string& directory, std::string_view authority,
                                      std::string_view host_authorities);

}  // namespace nutshell::egress
