// A short-lived child that does for a program with one thread what may take long. The program does
// not wait for it: the child sends one answer, and a descriptor tells when it is there.
#pragma once

#include <functional>
#include <vector>

#include "base/child_process.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace nutshell::native {

class SideProcess {
 public:
  // `work` runs in the child, which has a copy of our memory and of these descriptors, and dies
  // with this process.
  static Result<SideProcess> start(std::vector<int> descriptors,
                                   const std::function<Result<>()>& work);

  // Readable once the child has answered or died.
  [[nodiscard]] int descriptor() const { return answer_.get(); }
  // Returns the result of `work`. Waits for it until the deadline, and kills the child.
  Result<> take_answer(const Deadline& deadline);
  // The child, to be reaped when it is out; a destructor would wait for that.
  ChildProcess take_child() { return std::move(child_); }

 private:
  SideProcess(ChildProcess child, UniqueFd answer)
      : child_(std::move(child)), answer_(std::move(answer)) {}
  ChildProcess child_;
  UniqueFd answer_;
};

}  // namespace nutshell::native
