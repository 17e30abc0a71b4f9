// Runs a step when the scope is left, unless it was released.
#pragma once

#include <utility>

namespace nutshell {

template <typename Step>
class Defer {
 public:
  explicit Defer(Step step) : step_(std::move(step)) {}
  Defer(const Defer&) = delete;
  Defer& operator=(const Defer&) = delete;
  ~Defer() {
    if (is_armed_) step_();
  }
  void release() { is_armed_ = false; }

 private:
  Step step_;
  bool is_armed_ = true;
};

}  // namespace nutshell
