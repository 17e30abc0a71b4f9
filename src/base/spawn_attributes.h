// How programs of others are started. What a thread of ours blocks and what we ignore outlasts
// exec, and would make them deaf to whoever wants to stop them.
#pragma once

#include <spawn.h>

namespace nutshell {

// The attributes of posix_spawn for a child that blocks no signal and dies of a broken pipe, as
// programs expect. What whoever started us ignores, as nohup does, is ignored by it too.
class SpawnAttributes {
 public:
  enum class Session { Same, Own };

  explicit SpawnAttributes(Session session = Session::Same);
  SpawnAttributes(const SpawnAttributes&) = delete;
  SpawnAttributes& operator=(const SpawnAttributes&) = delete;
  ~SpawnAttributes() { ::posix_spawnattr_destroy(&attributes_); }

  [[nodiscard]] const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_{};
};

}  // namespace nutshell
