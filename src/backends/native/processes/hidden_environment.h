// What a sandbox was given as its environment, where no clone of this process finds it: every init
// begins as a copy of the launcher's memory, and must not hold the secrets of another sandbox.
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
  UniqueFd text_;  // in the kernel's memory, its number above those a clone takes along
};

}  // namespace nutshell::native
