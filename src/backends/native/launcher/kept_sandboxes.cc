#include "backends/native/launcher/kept_sandboxes.h"

#include <fmt/format.h>

#include "base/socket.h"
#include "core/sandbox_id.h"
#include "wire/codec.h"

namespace nutshell::native {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kListPage = 32;
constexpr std::size_t kMostListBytes = kMostPacketBytes / 2;

}  // namespace

SandboxStatus KeptSandboxes::status_of(const std::string& id, const KeptSandbox& kept) {
  SandboxStatus status;
  status.id = id;
  status.spec = kept.spec;
  status.state = kept.is_paused ? SandboxState::Paused : SandboxState::Running;
  status.age = std::chrono::duration_cast<milliseconds>(Clock::now() - kept.started);
  status.time_left = kept.time_left();
  status.why_copied = kept.sandbox.why_copied;
  return status;
}

KeptSandbox* KeptSandboxes::find(const std::string& id) {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &found->second;
}

Result<KeptSandbox*> KeptSandboxes::require(const std::string& id) {
  if (KeptSandbox* kept = find(id)) return kept;
  return failure(ErrorCode::NotFound,
                 fmt::format("no sandbox '{}': 'nutshell list' shows those there are", id));
}

std::optional<std::string> KeptSandboxes::id_of(std::uint64_t key) const {
  const auto found = ids_.find(key);
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

std::string KeptSandboxes::add(KeptSandbox kept) {
  std::string id = new_sandbox_id(kIdLetter);
  ids_.emplace(kept.key, id);
  update_end(by_id_.emplace(id, std::move(kept)).first->second);
  return id;
}

KeptSandbox KeptSandboxes::remove(const std::string& id) {
  const auto found = by_id_.find(id);
  KeptSandbox kept = std::move(found->second);
  ids_.erase(kept.key);
  ends_.erase({kept.listed_end, kept.key});
  by_id_.erase(found);
  return kept;
}

void KeptSandboxes::update_end(KeptSandbox& kept) {
  if (kept.listed_end == kept.end) return;
  ends_.erase({kept.listed_end, kept.key});
  ends_.emplace(kept.end, kept.key);
  kept.listed_end = kept.end;
}

std::optional<Clock::time_point> KeptSandboxes::first_end() const {
  return ends_.empty() ? std::nullopt : std::optional(ends_.begin()->first);
}

std::vector<std::string> KeptSandboxes::overdue(Clock::time_point now) const {
  std::vector<std::string> ids;
  for (auto end = ends_.begin(); end != ends_.end() && end->first <= now; ++end)
    ids.push_back(ids_.at(end->second));
  return ids;
}

void KeptSandboxes::list(const std::string& after, LauncherReply& reply) const {
  auto item = by_id_.upper_bound(after);
  std::size_t bytes = 0;
  for (; item != by_id_.end() && reply.sandboxes.size() < kListPage; ++item) {
    if (!item->second.is_listed) continue;
    SandboxStatus status = status_of(item->first, item->second);
    bytes += wire::encode(status).size();
    if (!reply.sandboxes.empty() && bytes > kMostListBytes) break;
    reply.sandboxes.push_back(std::move(status));
  }
  reply.has_more = item != by_id_.end() ? 1 : 0;
}

}  // namespace nutshell::native
