#include "service/state/idempotency.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/sha256.h"
#include "service/model/moments.h"

namespace nutshell::service {
namespace {

constexpr std::size_t kMostKeyBytes = 255;
constexpr std::int64_t kKeptMs = 24LL * 3600 * 1000;

}  // namespace

std::optional<NamedLocks::Lock> Idempotency::lock(const std::string& tenant,
                                                  const std::string& key) {
  if (key.empty()) return std::nullopt;
  return locks_.take(fmt::format("{}:{}:{}", tenant.size(), tenant, key));
}

Result<std::optional<std::string>> Idempotency::find(const std::string& tenant,
                                                     const std::string& key,
                                                     const std::string& request) {
  std::optional<std::string> target;
  if (key.empty()) return target;
  if (key.size() > kMostKeyBytes)
    return failure(ErrorCode::InvalidArgument, "the idempotency key is longer than 255 bytes");
  std::string before;
  TRY(database_.query("SELECT request, target FROM keys WHERE tenant=? AND key=?", {tenant, key},
                      [&](const Row& row) {
                        before = row.text(0);
                        target = row.text(1);
                      }));
  if (target && before != sha256_hex(request)) {
    return failure(ErrorCode::AlreadyExists,
                   "the idempotency key was given for another request: take a new one");
  }
  return target;
}

Result<> Idempotency::note(const std::string& tenant, const std::string& key,
                           const std::string& request, const std::string& target) {
  if (key.empty()) return {};
  TRY(
      database_.run("INSERT INTO keys(tenant, key, request, target, made_ms) VALUES(?,?,?,?,?) "
                    "ON CONFLICT(tenant, key) DO UPDATE SET target=excluded.target",
                    {tenant, key, sha256_hex(request), target, to_ms(Clock::now())}));
  make_room(tenant);
  return {};
}

void Idempotency::make_room(const std::string& tenant) {
  const std::uint64_t most = most_(tenant);
  // Counts only now and then, so the bound is exceeded by at most an eighth.
  const std::uint64_t pace = std::clamp<std::uint64_t>(most / 8, 1, 1024);
  const std::uint64_t before = noted_.with([&tenant](auto& noted) { return noted[tenant]++; });
  if (before % pace != 0) return;
  // Keys that stay are removed later, or after a day.
  (void)database_.run(
      "DELETE FROM keys WHERE tenant=? AND rowid NOT IN (SELECT rowid FROM keys WHERE tenant=? "
      "ORDER BY made_ms DESC, rowid DESC LIMIT ?)",
      {tenant, tenant, static_cast<std::int64_t>(std::min<std::uint64_t>(most, INT64_MAX))});
}

void Idempotency::forget(const std::string& tenant, const std::string& key) {
  if (key.empty()) return;
  // A key that stays names nothing; the next request uses it again.
  (void)database_.run("DELETE FROM keys WHERE tenant=? AND key=?", {tenant, key});
}

void Idempotency::forget_old() {
  const std::int64_t now = to_ms(Clock::now());
  // Keys of an earlier boot, whose clock was another: their day begins again.
  (void)database_.run("UPDATE keys SET made_ms=? WHERE made_ms>?", {now, now});
  (void)database_.run("DELETE FROM keys WHERE made_ms<?", {now - kKeptMs});
}

}  // namespace nutshell::service
