// The records of all tenants. Each tenant has a chain with room of its own, so a tenant that causes
// many records pushes out only its own oldest ones. Callers that were refused before they had a
// tenant share another chain. Thread-safe.
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

// The action of a record about a refused caller.
inline constexpr const char* kDenied = "deny";

struct Chain {
  std::string name;  // "" for the owner's chain, "tenant NAME", or "denied"
  std::filesystem::path directory;
};

// Lists every chain below `root`, the owner's first.
Result<std::vector<Chain>> list_chains(const std::filesystem::path& root);
// The directory of one tenant's chain; the owner's if the tenant has none.
std::filesystem::path chain_of(const std::filesystem::path& root, const std::string& tenant);

class Chains {
 public:
  // `owner` is the tenant whose records, and the daemon's own, lie directly in the directory.
  static Result<std::unique_ptr<Chains>> open(AuditOptions options, std::string owner,
                                              Log::Notice notice);

  // Returns the record's id in the chain of its tenant.
  Result<std::uint64_t> append(const Entry& entry);

  [[nodiscard]] const std::filesystem::path& directory() const { return options_.directory; }
  // How many records were ever written, to all chains together.
  std::uint64_t records();
  // Why the last append to some chain failed; empty if none did.
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
