#include "backends/native/start/parts_pool.h"

#include <fmt/format.h>

#include "backends/native/cgroups/cgroup_name.h"
#include "backends/native/processes/kept_descriptors.h"

namespace nutshell::native {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kReadyParts = 4;
constexpr std::size_t kMostParts = 32;
constexpr auto kCleaningTime = 500ms;
constexpr auto kBetweenCleanings = 5ms;

}  // namespace

Result<> PartsPool::open_home_network() {
  home_network_ = TRY(open_own_network_namespace());
  return {};
}

Result<Cgroup> PartsPool::make_cgroup(const CgroupHost& host) {
  if (cgroup_owner_.empty()) cgroup_owner_ = TRY(cgroup_owner_name());
  return Cgroup::create(host, fmt::format("{}.{}", cgroup_owner_, cgroup_count_++));
}

Result<Cgroup> PartsPool::take_cgroup(const CgroupHost& host) {
  while (free_cgroups_.empty() && clean_one_cgroup()) {
  }
  if (free_cgroups_.empty()) return make_cgroup(host);
  Cgroup cgroup = std::move(free_cgroups_.front());
  free_cgroups_.pop_front();
  return cgroup;
}

Result<NetworkNamespace> PartsPool::take_network() {
  while (free_networks_.empty() && clean_one_network()) {
  }
  if (free_networks_.empty()) return NetworkNamespace::create(home_network_);
  NetworkNamespace network = std::move(free_networks_.front());
  free_networks_.pop_front();
  return network;
}

Result<UserNamespace> PartsPool::take_user(Privilege privilege) {
  if (free_users_.empty()) return UserNamespace::create(choose_host_ids(privilege));
  UserNamespace user = std::move(free_users_.front());
  free_users_.pop_front();
  return user;
}

// The next sandbox needs the descriptors of its parts below kFirstKept, where a clone copies them.
void PartsPool::give_back(Cgroup cgroup) {
  if (!cgroup.renumber(kFirstOwn)) return;
  if (used_cgroups_.size() + free_cgroups_.size() >= kMostParts) return;
  used_cgroups_.push_back({std::move(cgroup), Deadline::in(0ms), Deadline::in(kCleaningTime)});
}

void PartsPool::give_back(NetworkNamespace network) {
  if (!network.renumber(kFirstOwn)) return;
  if (used_networks_.size() + free_networks_.size() >= kMostParts) return;
  used_networks_.push_back(std::move(network));
}

void PartsPool::give_back(UserNamespace user) {
  if (!user.renumber(kFirstOwn) || free_users_.size() >= kMostParts) return;
  free_users_.push_back(std::move(user));
}

bool PartsPool::clean_one() {
  return clean_one_cgroup() || clean_one_network();
}

// The kernel frees the memory of a dead sandbox a little later, so a cgroup that is not clean yet
// is tried again. One that does not become clean is dropped, and the next sandbox gets a new one.
bool PartsPool::clean_one_cgroup() {
  if (used_cgroups_.empty() || !used_cgroups_.front().next_try.has_passed()) return false;
  UsedCgroup used = std::move(used_cgroups_.front());
  used_cgroups_.pop_front();
  if (used.cgroup.recycle(Deadline::in(0ms))) {
    free_cgroups_.push_back(std::move(used.cgroup));
  } else if (!used.last_try.has_passed()) {
    used.next_try = Deadline::in(kBetweenCleanings);
    used_cgroups_.push_back(std::move(used));
  }
  return true;
}

bool PartsPool::clean_one_network() {
  if (used_networks_.empty()) return false;
  NetworkNamespace network = std::move(used_networks_.front());
  used_networks_.pop_front();
  const auto is_clean = network.is_clean(home_network_);
  if (is_clean && *is_clean) free_networks_.push_back(std::move(network));
  return true;
}

// If a part cannot be made, the next start meets the same error and reports it.
bool PartsPool::make_one(const Abilities& abilities) {
  if (free_networks_.size() < kReadyParts) {
    auto network = NetworkNamespace::create(home_network_);
    if (network) free_networks_.push_back(std::move(*network));
    return network.has_value();
  }
  if (abilities.privilege == Privilege::Root && free_users_.size() < kReadyParts) {
    auto user = UserNamespace::create(choose_host_ids(abilities.privilege));
    if (user) free_users_.push_back(std::move(*user));
    return user.has_value();
  }
  const bool has_cgroups = abilities.cgroups.version() != CgroupVersion::None;
  if (!has_cgroups || free_cgroups_.size() >= kReadyParts) return false;
  auto cgroup = make_cgroup(abilities.cgroups);
  if (cgroup) free_cgroups_.push_back(std::move(*cgroup));
  return cgroup.has_value();
}

bool PartsPool::has_surplus() const {
  return free_cgroups_.size() > kReadyParts || free_networks_.size() > kReadyParts ||
         free_users_.size() > kReadyParts;
}

// Many sandboxes at a time leave many parts, each of which holds descriptors and kernel memory.
bool PartsPool::drop_surplus() {
  if (!has_surplus() || !surplus_end_.has_passed()) return false;
  if (free_cgroups_.size() > kReadyParts) free_cgroups_.pop_back();
  if (free_networks_.size() > kReadyParts) free_networks_.pop_back();
  if (free_users_.size() > kReadyParts) free_users_.pop_back();
  return true;
}

Deadline PartsPool::next_change() const {
  const Deadline cleaning =
      used_cgroups_.empty() ? Deadline::never() : used_cgroups_.front().next_try;
  return has_surplus() ? earlier(cleaning, surplus_end_) : cleaning;
}

}  // namespace nutshell::native
