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

Failure not_seen(const Held& held) {
  return failure(ErrorCode::Unavailable,
                 fmt::format("sandbox {} is kept, but its backend {} has not answered since the "
                             "daemon started",
                             held.id, held.spec.backend));
}

Grip grip_of(const Held& held) {
  return {held.id,   held.spec.backend, held.tenant, held.session,
          held.pool, held.secrets,      held.state,  held.spec.limits.disk_bytes};
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
  for (const Requirement& requirement : spec.requirements)
    bytes += requirement.protection.size() + kEach;
  for (const std::string& name : spec.unsafe_without)
    bytes += name.size() + kEach;
  return bytes;
}

void SandboxTable::insert(Held held, Accounts::Charges charges) {
  state_.with([&](State& state) {
    std::string id = held.id;
    state.charges.insert_or_assign(id, std::move(charges));
    state.held.insert_or_assign(std::move(id), std::move(held));
  });
}

void SandboxTable::adopt(Held held) {
  state_.with([&](State& state) {
    std::string id = held.id;
    state.charges.erase(id);
    state.charges[id] =
        accounts_.take_sandbox_anyway(held.tenant, held.spec.limits, state_bytes_of(held.spec));
    state.held.insert_or_assign(std::move(id), std::move(held));
  });
}

Result<> SandboxTable::bind(const std::string& id, Held owner) {
  return state_.with([&](State& state) -> Result<> {
    const auto found = state.held.find(id);
    if (found == state.held.end()) return no_such_sandbox(id);
    // The pool's charge goes first: the machine holds the sandbox once.
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
  auto held = copy_of(id);
  if (!held) return;
  held->tenant.clear();
  adopt(std::move(*held));
}

std::optional<Held> SandboxTable::remove(const std::string& id) {
  return state_.with([&id](State& state) -> std::optional<Held> {
    const auto found = state.held.find(id);
    if (found == state.held.end()) return std::nullopt;
    Held held = std::move(found->second);
    state.held.erase(found);
    state.charges.erase(id);
    return held;
  });
}

Result<Grip> SandboxTable::find(const std::string& tenant, const std::string& id) {
  if (!is_sandbox_id_beginning(id) || tenant.empty()) return no_such_sandbox(id);
  return state_.with([&](State& state) -> Result<Grip> {
    const Held* match = nullptr;
    for (auto item = state.held.lower_bound(id);
         item != state.held.end() && item->first.starts_with(id); ++item) {
      if (item->second.tenant != tenant) continue;
      if (match != nullptr) {
        return failure(ErrorCode::InvalidArgument,
                       fmt::format("'{}' is the beginning of several ids: give more of it", id));
      }
      match = &item->second;
    }
    if (match == nullptr) return no_such_sandbox(id);
    if (match->is_unseen) return not_seen(*match);
    return grip_of(*match);
  });
}

std::optional<Held> SandboxTable::copy_of(const std::string& id) {
  return state_.with([&id](State& state) -> std::optional<Held> {
    const auto found = state.held.find(id);
    return found != state.held.end() ? std::optional(found->second) : std::nullopt;
  });
}

bool SandboxTable::has(const std::string& id) {
  return state_.with([&id](State& state) { return state.held.contains(id); });
}

SandboxTable::Rest SandboxTable::rest_of(const std::string& id) {
  Rest rest;
  change(id, [&rest](const Held& held) {
    rest = {held.state == SandboxState::Paused, held.resumes_on_use, held.users > 0,
            held.is_unseen};
  });
  return rest;
}

void SandboxTable::change(const std::string& id, const std::function<void(Held&)>& step) {
  state_.with([&](State& state) {
    const auto found = state.held.find(id);
    if (found != state.held.end()) step(found->second);
  });
}

SandboxTable::Use SandboxTable::use(const std::string& id) {
  change(id, [](Held& held) { ++held.users; });
  return {*this, id};
}

SandboxTable::Use::~Use() {
  if (table_ == nullptr) return;
  table_->change(id_, [](Held& held) {
    held.users -= std::min(held.users, 1U);
    held.last_used = Clock::now();
  });
}

SandboxView SandboxTable::view(const Held& held) {
  SandboxView view = view_without_protections(held);
  view.protections = held.protections;
  return view;
}

SandboxView SandboxTable::view_without_protections(const Held& held) {
  SandboxView view;
  view.id = held.id;
  view.spec = held.spec;
  view.state = held.state;
  view.created = held.created;
  view.age = since(held.started);
  view.time_left = held.state == SandboxState::Paused ? held.left : until(held.deadline);
  view.idle = held.users > 0 ? milliseconds(0) : since(held.last_used);
  view.why_copied = held.why_copied;
  view.session = held.session;
  view.pool = held.pool;
  return view;
}

SandboxPage SandboxTable::list(const std::string& tenant, const ListRequest& request) {
  const std::size_t most = std::clamp<std::size_t>(request.most, 1, kMostPage);
  return state_.with([&](State& state) {
    SandboxPage page;
    for (auto item = state.held.upper_bound(request.cursor); item != state.held.end(); ++item) {
      const Held& held = item->second;
      if (held.tenant != tenant || tenant.empty() || !has_labels(held.spec, request.labels))
        continue;
      if (page.sandboxes.size() == most) {
        page.next_cursor = page.sandboxes.back().id;
        return page;
      }
      page.sandboxes.push_back(request.has_protections ? view(held)
                                                       : view_without_protections(held));
    }
    return page;
  });
}

std::vector<Held> SandboxTable::all() {
  return those([](const Held&) { return true; });
}

std::vector<Held> SandboxTable::those(const std::function<bool(const Held&)>& are_wanted) {
  return state_.with([&are_wanted](State& state) {
    std::vector<Held> wanted;
    for (const auto& [id, held] : state.held) {
      if (are_wanted(held)) wanted.push_back(held);
    }
    return wanted;
  });
}

}  // namespace nutshell::service
