// A short-lived child that does slow work for a program with one thread. The program does not wait
// for it: the child sends one answer, and a descriptor becomes readable when it has.
#pragma once

#include <functional>
#include <vector>

#include "base/child_process.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace nutshell::native {

class SideProcess {
 public:
  // `work` runs in the child, which has a copy of this process's memory and of these descriptors.
  // The child dies with this process.
  static Result<SideProcess> start(std::vector<int> descriptors,
                                   const std::function<Result<>()>& work);

  // Readable once the child has answered or died.
  [[nodiscard]] int descriptor() const { return answer_.get(); }
  // Waits until the deadline for the result of `work`, kills the child and returns the result.
  Result<> take_answer(const Deadline& deadline);
  // Hands over the child, to be reaped once it has ended; the destructor would wait for that.
  ChildProcess take_child() { return std::move(child_); }

 private:
  SideProcess(ChildProcess child, UniqueFd answer)
      : child_(std::move(child)), answer_(std::move(answer)) {}
  ChildProcess child_;
  UniqueFd answer_;
};

}  // namespace nutshell::native
