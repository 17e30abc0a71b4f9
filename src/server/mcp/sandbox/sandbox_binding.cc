#include "server/mcp/sandbox/sandbox_binding.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "base/sha256.h"

namespace nutshell::mcp {
namespace {

constexpr std::size_t kMostKnown = 4096;
// An engine lists a container for a moment after its end.
constexpr std::chrono::seconds kSeenTime{1};
constexpr std::chrono::milliseconds kBetweenLooks{20};

}  // namespace

std::string session_label(std::string_view kind, std::string_view name) {
  return sha256_hex(fmt::format("{}:{}", kind, name)).substr(0, 24);
}

SessionKey SandboxBinding::key_of(const Client& client) const {
  std::string session;
  {
    const std::lock_guard lock(mutex_);
    session = session_;
  }
  SessionKey key{client.owner, std::move(session), client.name, spec_.backend};
  if (!client.name.empty()) {
    key.label = session_label("name", client.owner + "\n" + client.name);
  } else if (!client.session.empty()) {
    key.label = session_label("http", client.owner + "\n" + client.session);
  } else if (!client.owner.empty()) {
    key.label = session_label("owner", client.owner);
  }
  return key;
}

void SandboxBinding::adopt(const std::string& workspace, const std::string& label) {
  const std::lock_guard lock(mutex_);
  workspace_ = workspace;
  if (!label.empty()) session_ = label;
}

std::string SandboxBinding::workspace() const {
  const std::lock_guard lock(mutex_);
  return workspace_;
}

SandboxSpec SandboxBinding::spec_for(const Client& client) const {
  SandboxSpec spec = spec_;
  spec.workspace = workspace();
  spec.labels[kSessionLabel] = key_of(client).label;
  if (!client.session.empty()) spec.labels[kRevisionLabel] = client.revision;
  return spec;
}

// Looks up a sandbox whose lease is not about to end.
std::optional<std::string> SandboxBinding::known_to(const std::string& label) {
  const std::lock_guard lock(mutex_);
  const auto known = known_.find(label);
  if (known == known_.end() || known->second.id.empty()) return std::nullopt;
  if (Clock::now() - known->second.ensured >= sandboxes_.ensured_for()) return std::nullopt;
  return known->second.id;
}

Result<SandboxBinding::Bound> SandboxBinding::bind(const Client& client) {
  const SessionKey key = key_of(client);
  if (auto id = known_to(key.label)) return Bound{std::move(*id), Bound::How::Known};
  Bound bound = TRY(sandboxes_.ensure(key, spec_for(client)));
  const std::lock_guard lock(mutex_);
  if (known_.size() > kMostKnown) known_.clear();  // they are found again by their labels
  Known& known = known_[key.label];
  if (known.id == bound.id) bound.how = Bound::How::Known;
  if (known.had_one && bound.how == Bound::How::Made) bound.how = Bound::How::MadeAnew;
  known = {bound.id, true, Clock::now()};
  return bound;
}

Result<std::string> SandboxBinding::find(const Client& client) {
  const SessionKey key = key_of(client);
  if (auto id = known_to(key.label)) return std::move(*id);
  return sandboxes_.find(key);
}

bool SandboxBinding::is_gone(const Client& client, const std::string& id) {
  const auto is_listed = [&] {
    const auto listed = sandboxes_.list(key_of(client));
    return listed && std::any_of(listed->begin(), listed->end(),
                                 [&id](const SandboxStatus& one) { return one.id == id; });
  };
  const Deadline patience = Deadline::in(kSeenTime);
  bool is_there = is_listed();
  while (is_there && !patience.has_passed()) {
    std::this_thread::sleep_for(kBetweenLooks);
    is_there = is_listed();
  }
  if (!is_there) forget(client, id);
  return !is_there;
}

void SandboxBinding::forget(const Client& client, const std::string& id) {
  const std::string label = key_of(client).label;
  const std::lock_guard lock(mutex_);
  const auto known = known_.find(label);
  if (known != known_.end() && known->second.id == id) known->second.id.clear();
}

Result<std::string> SandboxBinding::create(const Client& client) {
  return sandboxes_.create(key_of(client), spec_for(client));
}

Result<std::vector<SandboxStatus>> SandboxBinding::list(const Client& client) {
  auto found = TRY(sandboxes_.list(key_of(client)));
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.age > b.age; });
  return found;
}

Result<SandboxStatus> SandboxBinding::own(const Client& client, const std::string& id) {
  for (SandboxStatus& status : TRY(list(client)))
    if (status.id == id) return std::move(status);
  return failure(ErrorCode::NotFound, fmt::format("there is no sandbox '{}'", id.substr(0, 40)));
}

}  // namespace nutshell::mcp
