// How much of each resource a tenant may hold at once, and all tenants together. The table in
// quota.cc is the one list of resources: settings, messages and accounts are made from it.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/machine.h"

namespace nutshell::service {

enum class Resource : std::uint8_t {
  Sandboxes,
  Memory,  // these four are sums of the limits of sandboxes
  Millicpus,
  Processes,
  Disk,
  StateBytes,  // descriptions of sandboxes and sessions: labels, environment, setup
  Sessions,
  DetachedExecs,
  SpoolBytes,    // output of detached and streamed execs, on disk
  OutputMemory,  // output that the daemon collects for an answer
  KeptBytes,     // files that sessions leave behind
  ImageBytes,    // images that were pulled for the tenant
  Keys,          // idempotency keys
  Waiting,       // callers that wait for pools
};
inline constexpr std::size_t kResourceCount = 14;

struct ResourceInfo {
  Resource resource;
  const char* name;    // of the setting quota.NAME, and the key in [[quotas]]
  const char* words;   // in messages: "has too little left of its WORDS"
  const char* remedy;  // what a refused caller can do
  const char* help;
};
const std::array<ResourceInfo, kResourceCount>& resources();
const ResourceInfo& info_of(Resource resource);
// As settings and messages show it: 1500 of Millicpus is "1.5", all else is counted as it is.
std::string amount_text(Resource resource, std::uint64_t amount);

class Quota {
 public:
  Quota() : Quota(every(0)) {}
  static Quota every(std::uint64_t amount) {
    Quota quota{Amounts{}};
    quota.most_.fill(amount);
    return quota;
  }
  std::uint64_t& operator[](Resource resource) { return most_[static_cast<std::size_t>(resource)]; }
  std::uint64_t operator[](Resource resource) const {
    return most_[static_cast<std::size_t>(resource)];
  }

 private:
  using Amounts = std::array<std::uint64_t, kResourceCount>;
  explicit Quota(const Amounts& most) : most_(most) {}
  Amounts most_;
};

// How much more than the machine has may be granted to sandboxes, in percent. Limits are upper
// bounds that few sandboxes reach, but process ids are never promised twice.
struct Overcommit {
  std::uint64_t memory = 800;
  std::uint64_t cpu = 6400;
  std::uint64_t disk = 400;
  std::uint64_t processes = 90;
};

// Quota of all tenants together on this machine; `disk_bytes` is the disk of the state directory.
Quota machine_quota(const Machine& machine, std::uint64_t disk_bytes, const Overcommit& overcommit);
// Quota of one tenant unless the operator sets another: a quarter of the machine's.
Quota tenant_quota(const Quota& machine);

}  // namespace nutshell::service
