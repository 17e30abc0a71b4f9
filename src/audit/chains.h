// The records of all tenants. Each tenant has a chain of its own, with room of its own: a tenant
// that writes much pushes out its own oldest records and nobody else's. Callers that were not let
// in have a chain too. Thread-safe.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "audit/audit_options.h"
#include "audit/log.h"
#include "audit/record.h"
#include "base/result.h"

namespace nutshell::audit {

// The action of a record about somebody who was not let in, or may not do something.
inline constexpr const char* kDenied = "deny";

struct Chain {
  std::string name;  // "" for the owner's, "tenant NAME", "denied"
  std::filesystem::path directory;
};

// Every chain below `root`, the owner's first.
Result<std::vector<Chain>> list_chains(const std::filesystem::path& root);
// Where the records of one tenant are. A tenant without a chain of its own is the owner.
std::filesystem::path chain_of(const std::filesystem::path& root, const std::string& tenant);

class Chains {
 public:
  // `owner` is the tenant whose records, and the daemon's own, lie directly in the directory.
  static Result<std::unique_ptr<Chains>> open(AuditOptions options, std::string owner,
                                              Log::Notice notice);

  // The record's id, counted in its tenant's chain.
  Result<std::uint64_t> append(const Entry& entry);

  [[nodiscard]] const std::filesystem::path& directory() const { return options_.directory; }
  // How many records were ever written, to all chains together.
  std::uint64_t records();
  // Why the last append to some chain failed; empty: all is well.
  std::string trouble();

 private:
  Chains(AuditOptions options, std::string owner, Log::Notice notice)
      : options_(std::move(options)), owner_(std::move(owner)), notice_(std::move(notice)) {}
  Result<Log*> log_of(const Entry& entry);
  Result<Log*> open_chain(const std::filesystem::path& directory);

  AuditOptions options_;
  std::string owner_;
  Log::Notice notice_;
  std::mutex mutex_;
  std::map<std::filesystem::path, std::unique_ptr<Log>> logs_;  // never removed
};

}  // namespace nutshell::audit
