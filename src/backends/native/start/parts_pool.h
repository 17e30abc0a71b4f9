// Keeps the parts that any sandbox can use: cgroups, network namespaces and user namespaces. Cleans
// the parts of sandboxes that have ended, so that later sandboxes use them again, and makes others
// ahead. Not thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "backends/native/cgroups/cgroup.h"
#include "backends/native/namespaces/network_namespace.h"
#include "backends/native/namespaces/user_namespace.h"
#include "backends/native/start/abilities.h"
#include "base/deadline.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace nutshell::native {

class PartsPool {
 public:
  // Network namespaces can be taken only after this.
  Result<> open_home_network();

  // Whether no part is there, not even one to be cleaned.
  [[nodiscard]] bool has_no_cgroup() const {
    return free_cgroups_.empty() && used_cgroups_.empty();
  }
  [[nodiscard]] bool has_no_network() const {
    return free_networks_.empty() && used_networks_.empty();
  }

  // Each returns a clean part, and makes one if there is none.
  Result<Cgroup> take_cgroup(const CgroupHost& host);
  Result<NetworkNamespace> take_network();
  Result<UserNamespace> take_user(Privilege privilege);

  // Keeps a part for the next sandbox. Drops it if there are many, or if it cannot be renumbered.
  void give_back(Cgroup cgroup);
  void give_back(NetworkNamespace network);
  void give_back(UserNamespace user);

  // Cleans one part; false if none can be cleaned now.
  bool clean_one();
  // Makes one part; false if enough are ready or it cannot be made.
  bool make_one(const Abilities& abilities);
  // Keeps more parts than are usually ready until then.
  void keep_surplus(Deadline end) { surplus_end_ = end; }
  // Drops one part of each kind beyond those that are usually ready, once that time is over.
  bool drop_surplus();
  // When a part can be cleaned or dropped although nothing has happened.
  [[nodiscard]] Deadline next_change() const;

 private:
  struct UsedCgroup {
    Cgroup cgroup;
    Deadline next_try;
    Deadline last_try;
  };
  Result<Cgroup> make_cgroup(const CgroupHost& host);
  bool clean_one_cgroup();
  bool clean_one_network();
  [[nodiscard]] bool has_surplus() const;

  std::string cgroup_owner_;  // empty until the first cgroup is made
  std::uint64_t cgroup_count_ = 0;
  UniqueFd home_network_;
  std::deque<UsedCgroup> used_cgroups_;         // to be cleaned before they are used again
  std::deque<NetworkNamespace> used_networks_;  // likewise
  std::deque<Cgroup> free_cgroups_;
  std::deque<NetworkNamespace> free_networks_;
  std::deque<UserNamespace> free_users_;
  Deadline surplus_end_ = Deadline::never();
};

}  // namespace nutshell::native
