// Keeps the environment of a sandbox outside of this process's memory. Every init begins as a copy
// of the launcher's memory and must not find the secrets of another sandbox there.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace nutshell::native {

class HiddenEnvironment {
 public:
  Result<> hide(const std::vector<std::string>& environment);
  [[nodiscard]] Result<std::vector<std::string>> show() const;

 private:
  UniqueFd text_;  // a memfd, numbered above the descriptors that a clone copies
};

}  // namespace nutshell::native
