#include "service/sandboxes/sandbox_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/sandbox_id.h"
#include "service/model/moments.h"

namespace nutshell::service {
namespace {

constexpr std::size_t kMostPage = 1000;

bool has_labels(const SandboxSpec& spec, const std::map<std::string, std::string>& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&spec](const auto& label) {
    const auto found = spec.labels.find(label.first);
    return found != spec.labels.end() && found->second == label.second;
  });
}

Failure not_seen(const SandboxEntry& entry) {
  return failure(ErrorCode::Unavailable,
                 fmt::format("sandbox {} is kept, but its backend {} has not answered since the "
                             "daemon started",
                             entry.id, entry.spec.backend));
}

SandboxRef ref_of(const SandboxEntry& entry) {
  return {entry.id,   entry.spec.backend, entry.tenant, entry.session,
          entry.pool, entry.secrets,      entry.state,  entry.spec.limits.disk_bytes};
}

}  // namespace

Failure no_such_sandbox(const std::string& id) {
  return failure(ErrorCode::NotFound,
                 fmt::format("no sandbox '{}': it may have reached its ttl", id));
}

std::uint64_t state_bytes_of(const SandboxSpec& spec) {
  constexpr std::uint64_t kFixed = 2048;  // the row, the protections, the maps
  constexpr std::uint64_t kEach = 64;
  std::uint64_t bytes = kFixed + spec.image.size() + spec.runtime.size() + spec.workspace.size() +
                        spec.working_directory.size();
  for (const auto& [name, value] : spec.labels)
    bytes += name.size() + value.size() + kEach;
  for (const std::string& variable : spec.environment)
    bytes += variable.size() + kEach;
  for (const UnsafeMount& mount : spec.unsafe_mounts)
    bytes += mount.source.size() + mount.target.size() + kEach;
  for (const Mount& mount : spec.mounts)
    bytes += mount.source.size() + mount.target.size() + kEach;
  for (const Requirement& requirement : spec.requirements)
    bytes += requirement.protection.size() + kEach;
  for (const std::string& name : spec.unsafe_without)
    bytes += name.size() + kEach;
  return bytes;
}

void SandboxTable::insert(SandboxEntry entry, Accounts::Charges charges) {
  state_.with([&](State& state) {
    std::string id = entry.id;
    state.charges.insert_or_assign(id, std::move(charges));
    state.entries.insert_or_assign(std::move(id), std::move(entry));
  });
}

void SandboxTable::adopt(SandboxEntry entry) {
  state_.with([&](State& state) {
    std::string id = entry.id;
    state.charges.erase(id);
    state.charges[id] =
        accounts_.take_sandbox_anyway(entry.tenant, entry.spec.limits, state_bytes_of(entry.spec));
    state.entries.insert_or_assign(std::move(id), std::move(entry));
  });
}

Result<> SandboxTable::bind(const std::string& id, SandboxEntry owner) {
  return state_.with([&](State& state) -> Result<> {
    const auto found = state.entries.find(id);
    if (found == state.entries.end()) return no_such_sandbox(id);
    // Gives the pool's charge back first, so that the machine is charged once.
    state.charges.erase(id);
    const std::uint64_t bytes = state_bytes_of(owner.spec);
    auto charges = accounts_.take_sandbox(owner.tenant, owner.spec.limits, bytes);
    const bool is_granted = charges.has_value();
    state.charges[id] = is_granted ? std::move(*charges)
                                   : accounts_.take_sandbox_anyway(
                                         found->second.tenant, found->second.spec.limits, bytes);
    if (!is_granted) return Failure(std::move(charges).error());
    found->second = std::move(owner);
    return {};
  });
}

void SandboxTable::unbind(const std::string& id) {
  auto entry = copy_of(id);
  if (!entry) return;
  entry->tenant.clear();
  adopt(std::move(*entry));
}

std::optional<SandboxEntry> SandboxTable::remove(const std::string& id) {
  return state_.with([&id](State& state) -> std::optional<SandboxEntry> {
    const auto found = state.entries.find(id);
    if (found == state.entries.end()) return std::nullopt;
    SandboxEntry entry = std::move(found->second);
    state.entries.erase(found);
    state.charges.erase(id);
    return entry;
  });
}

Result<SandboxRef> SandboxTable::find(const std::string& tenant, const std::string& id) {
  if (!is_sandbox_id_beginning(id) || tenant.empty()) return no_such_sandbox(id);
  return state_.with([&](State& state) -> Result<SandboxRef> {
    const SandboxEntry* match = nullptr;
    for (auto item = state.entries.lower_bound(id);
         item != state.entries.end() && item->first.starts_with(id); ++item) {
      if (item->second.tenant != tenant) continue;
      if (match != nullptr) {
        return failure(ErrorCode::InvalidArgument,
                       fmt::format("'{}' is the beginning of several ids: give more of it", id));
      }
      match = &item->second;
    }
    if (match == nullptr) return no_such_sandbox(id);
    if (match->is_unseen) return not_seen(*match);
    return ref_of(*match);
  });
}

Result<SandboxView> SandboxTable::find_view(const std::string& tenant, const std::string& id) {
  const auto entry = copy_of(TRY(find(tenant, id)).id);
  if (!entry) return no_such_sandbox(id);
  return view(*entry);
}

std::optional<SandboxView> SandboxTable::find_made(const std::string& tenant,
                                                   const std::optional<std::string>& op) {
  if (!op) return std::nullopt;
  const auto found =
      those([&](const SandboxEntry& entry) { return entry.op == *op && entry.tenant == tenant; });
  if (found.empty()) return std::nullopt;
  return view(found.front());
}

std::optional<SandboxEntry> SandboxTable::copy_of(const std::string& id) {
  return state_.with([&id](State& state) -> std::optional<SandboxEntry> {
    const auto found = state.entries.find(id);
    return found != state.entries.end() ? std::optional(found->second) : std::nullopt;
  });
}

bool SandboxTable::has(const std::string& id) {
  return state_.with([&id](State& state) { return state.entries.contains(id); });
}

SandboxTable::CurrentState SandboxTable::current_state(const std::string& id) {
  CurrentState rest;
  change(id, [&rest](const SandboxEntry& entry) {
    rest = {entry.state == SandboxState::Paused, entry.resumes_on_use, entry.users > 0,
            entry.is_unseen};
  });
  return rest;
}

void SandboxTable::change(const std::string& id, const std::function<void(SandboxEntry&)>& step) {
  state_.with([&](State& state) {
    const auto found = state.entries.find(id);
    if (found != state.entries.end()) step(found->second);
  });
}

SandboxTable::Use SandboxTable::use(const std::string& id) {
  change(id, [](SandboxEntry& entry) { ++entry.users; });
  return {*this, id};
}

SandboxTable::Use::~Use() {
  if (table_ == nullptr) return;
  table_->change(id_, [](SandboxEntry& entry) {
    entry.users -= std::min(entry.users, 1U);
    entry.last_used = Clock::now();
  });
}

SandboxView SandboxTable::view(const SandboxEntry& entry) {
  SandboxView view = view_without_protections(entry);
  view.protections = entry.protections;
  return view;
}

SandboxView SandboxTable::view_without_protections(const SandboxEntry& entry) {
  SandboxView view;
  view.id = entry.id;
  view.spec = entry.spec;
  view.state = entry.state;
  view.created = entry.created;
  view.age = since(entry.started);
  view.time_left = entry.state == SandboxState::Paused ? entry.left : until(entry.deadline);
  view.idle = entry.users > 0 ? milliseconds(0) : since(entry.last_used);
  view.why_copied = entry.why_copied;
  view.session = entry.session;
  view.pool = entry.pool;
  return view;
}

SandboxPage SandboxTable::list(const std::string& tenant, const ListRequest& request) {
  const std::size_t most = std::clamp<std::size_t>(request.most, 1, kMostPage);
  return state_.with([&](State& state) {
    SandboxPage page;
    for (auto item = state.entries.upper_bound(request.cursor); item != state.entries.end();
         ++item) {
      const SandboxEntry& entry = item->second;
      if (entry.tenant != tenant || tenant.empty() || !has_labels(entry.spec, request.labels))
        continue;
      if (page.sandboxes.size() == most) {
        page.next_cursor = page.sandboxes.back().id;
        return page;
      }
      page.sandboxes.push_back(request.has_protections ? view(entry)
                                                       : view_without_protections(entry));
    }
    return page;
  });
}

std::vector<SandboxEntry> SandboxTable::all() {
  return those([](const SandboxEntry&) { return true; });
}

std::vector<SandboxEntry> SandboxTable::those(
    const std::function<bool(const SandboxEntry&)>& are_wanted) {
  return state_.with([&are_wanted](State& state) {
    std::vector<SandboxEntry> wanted;
    for (const auto& [id, entry] : state.entries) {
      if (are_wanted(entry)) wanted.push_back(entry);
    }
    return wanted;
  });
}

}  // namespace nutshell::service
