#include "server/mcp/sandbox/sandbox_binding.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/sha256.h"

namespace nutshell::mcp {
namespace {

constexpr std::size_t kMostKnown = 4096;
// Made by name, next to the one that a client gets without asking.
constexpr const char* kRoleLabel = "mcp.role";

}  // namespace

std::string session_label(std::string_view kind, std::string_view name) {
  return sha256_hex(fmt::format("{}:{}", kind, name)).substr(0, 24);
}

std::string SandboxBinding::label_of(const Client& client) const {
  if (!client.session.empty()) return session_label("http", client.owner + "\n" + client.session);
  if (!client.owner.empty()) return session_label("owner", client.owner);
  return session_;
}

SandboxSpec SandboxBinding::spec_for(const Client& client) const {
  SandboxSpec spec = spec_;
  spec.labels[kSessionLabel] = label_of(client);
  return spec;
}

Result<SandboxBinding::Bound> SandboxBinding::bind(const Client& client) {
  const std::lock_guard lock(mutex_);
  if (known_.size() > kMostKnown) known_.clear();  // they are found again by their labels
  Known& known = known_[label_of(client)];
  if (!known.id.empty()) return Bound{known.id, Bound::How::Known};
  SandboxSpec spec = spec_for(client);
  spec.labels[kRoleLabel] = "default";
  for (const SandboxStatus& status : TRY(sandboxes_.list(client.owner, spec.labels))) {
    if (status.state != SandboxState::Running) continue;
    known = {status.id, true};
    return Bound{known.id, Bound::How::Found};
  }
  const bool had_one = known.had_one;
  const std::string made = TRY(sandboxes_.create(client.owner, spec));
  known = {made, true};
  return Bound{known.id, had_one ? Bound::How::MadeAnew : Bound::How::Made};
}

Result<std::string> SandboxBinding::find(const Client& client) {
  {
    const std::lock_guard lock(mutex_);
    const auto known = known_.find(label_of(client));
    if (known != known_.end() && !known->second.id.empty()) return known->second.id;
  }
  for (const SandboxStatus& status : TRY(list(client))) {
    const auto role = status.spec.labels.find(kRoleLabel);
    if (role != status.spec.labels.end()) return status.id;
  }
  return failure(ErrorCode::NotFound, "no tool was called yet: there is no sandbox");
}

bool SandboxBinding::is_gone(const Client& client, const std::string& id) {
  const auto listed = sandboxes_.list(client.owner, {{kSessionLabel, label_of(client)}});
  const bool is_there =
      listed && std::any_of(listed->begin(), listed->end(),
                            [&id](const SandboxStatus& status) { return status.id == id; });
  if (!is_there) forget(client, id);
  return !is_there;
}

void SandboxBinding::forget(const Client& client, const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto known = known_.find(label_of(client));
  if (known != known_.end() && known->second.id == id) known->second.id.clear();
}

Result<std::string> SandboxBinding::create(const Client& client) {
  return sandboxes_.create(client.owner, spec_for(client));
}

Result<std::vector<SandboxStatus>> SandboxBinding::list(const Client& client) {
  auto found = TRY(sandboxes_.list(client.owner, {{kSessionLabel, label_of(client)}}));
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.age > b.age; });
  return found;
}

Result<SandboxStatus> SandboxBinding::own(const Client& client, const std::string& id) {
  for (SandboxStatus& status : TRY(list(client)))
    if (status.id == id) return std::move(status);
  return failure(ErrorCode::NotFound, fmt::format("there is no sandbox '{}'", id.substr(0, 40)));
}

}  // namespace nutshell::mcp
