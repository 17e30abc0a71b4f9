#include "audit/chains.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/directory.h"
#include "base/sha256.h"

namespace nutshell::audit {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTenants = "tenants";
constexpr const char* kStrangers = "denied";
constexpr std::uint64_t kLeastSegmentBytes = 64U << 10U;

// A name that is no plain word is told by its hash: '=' occurs in no plain one.
std::string directory_name(const std::string& tenant) {
  const bool is_plain = !tenant.empty() && tenant.size() <= 64 &&
                        tenant.find_first_not_of(
                            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                            "0123456789_-") == std::string::npos;
  return is_plain ? tenant : "=" + sha256_hex(tenant).substr(0, 40);
}

}  // namespace

fs::path chain_of(const fs::path& root, const std::string& tenant) {
  const fs::path own = root / kTenants / directory_name(tenant);
  std::error_code error;
  return fs::is_directory(own, error) ? own : root;
}

Result<std::vector<Chain>> list_chains(const fs::path& root) {
  std::vector<Chain> chains = {{"", root}};
  std::error_code error;
  if (fs::is_directory(root / kStrangers, error)) chains.push_back({kStrangers, root / kStrangers});
  std::vector<fs::path> tenants;
  for (fs::directory_iterator entry(root / kTenants, error), end; !error && entry != end;
       entry.increment(error))
    tenants.push_back(entry->path());
  if (error && error != std::errc::no_such_file_or_directory)
    return syscall_failure(error.value(), "list", (root / kTenants).native());
  std::sort(tenants.begin(), tenants.end());
  for (const fs::path& tenant : tenants)
    chains.push_back({fmt::format("tenant {}", tenant.filename().native()), tenant});
  return chains;
}

Result<std::unique_ptr<Chains>> Chains::open(AuditOptions options, std::string owner,
                                             Log::Notice notice) {
  std::unique_ptr<Chains> chains(
      new Chains(std::move(options), std::move(owner), std::move(notice)));
  const fs::path root = chains->options_.directory;
  chains->logs_[root] = TRY(Log::open(chains->options_, chains->notice_));
  const std::vector<Chain> all = TRY(list_chains(root));
  for (const Chain& chain : all) {
    if (chain.directory != root) TRY(chains->open_chain(chain.directory));
  }
  return chains;
}

Result<Log*> Chains::log_of(const Entry& entry) {
  const fs::path& root = options_.directory;
  const std::lock_guard lock(mutex_);
  if (entry.tenant == owner_ || (entry.tenant.empty() && entry.action != kDenied))
    return logs_.at(root).get();
  if (entry.tenant.empty()) return open_chain(root / kStrangers);
  const auto known = logs_.find(root / kTenants / directory_name(entry.tenant));
  if (known != logs_.end()) return known->second.get();
  TRY(make_directory(root / kTenants));
  return open_chain(root / kTenants / directory_name(entry.tenant));
}

// The caller holds mutex_.
Result<Log*> Chains::open_chain(const fs::path& directory) {
  auto& log = logs_[directory];
  if (log) return log.get();
  AuditOptions options = options_;
  options.directory = directory;
  options.segment_bytes = std::clamp(options_.tenant_bytes / 4, kLeastSegmentBytes,
                                     std::max(options_.segment_bytes, kLeastSegmentBytes));
  options.most_segments = static_cast<std::uint32_t>(
      std::max<std::uint64_t>(2, options_.tenant_bytes / options.segment_bytes));
  auto opened = Log::open(std::move(options), notice_);
  if (!opened) {
    logs_.erase(directory);
    return Failure(std::move(opened).error());
  }
  log = std::move(*opened);
  return log.get();
}

Result<std::uint64_t> Chains::append(const Entry& entry) {
  return TRY(log_of(entry))->append(entry);
}

std::uint64_t Chains::records() {
  const std::lock_guard lock(mutex_);
  std::uint64_t all = 0;
  for (const auto& [directory, log] : logs_)
    all += log->head().id;
  return all;
}

std::string Chains::trouble() {
  const std::lock_guard lock(mutex_);
  for (const auto& [directory, log] : logs_) {
    if (std::string why = log->trouble(); !why.empty()) return why;
  }
  return {};
}

}  // namespace nutshell::audit
