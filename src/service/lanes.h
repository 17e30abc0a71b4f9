// Runtimes for many threads: a runtime is not thread-safe and cheap to keep, so each operation
// takes one that nobody else has. Thread-safe.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "base/guarded.h"
#include "runtime/runtime.h"

namespace nutshell::service {

class Lanes {
 public:
  explicit Lanes(BackendContext context) : context_(std::move(context)) {}

  // A runtime of one's own, given back by the destructor.
  class Lane {
   public:
    Lane(Lanes& home, std::unique_ptr<Runtime> runtime)
        : home_(&home), runtime_(std::move(runtime)) {}
    Lane(Lane&&) = default;
    Lane& operator=(Lane&&) = delete;
    ~Lane() {
      if (runtime_) home_->give_back(std::move(runtime_));
    }
    Runtime* operator->() { return runtime_.get(); }
    Runtime& operator*() { return *runtime_; }

   private:
    Lanes* home_;
    std::unique_ptr<Runtime> runtime_;
  };
  Lane take();
  // Frees what those that nobody uses hold of connections that have ended.
  void tidy();

 private:
  static constexpr std::size_t kMostIdle = 64;
  void give_back(std::unique_ptr<Runtime> runtime);

  BackendContext context_;
  Guarded<std::vector<std::unique_ptr<Runtime>>> idle_;
};

}  // namespace nutshell::service
