#include "service/sandboxes/ports.h"

#include <fmt/format.h>

#include "base/random_id.h"
#include "base/sha256.h"

namespace nutshell::service {
namespace {

constexpr std::size_t kTokenDigits = 32;

Failure not_open() {
  return failure(ErrorCode::NotFound,
                 "no port is open at this URL: it was closed, or its sandbox has ended");
}

}  // namespace

Result<PortView> Ports::open(const Caller& caller, const std::string& id, std::uint16_t port) {
  return uses_.sandbox_operations.run(
      caller, id, "open port", {"port", std::to_string(port)},
      [&](const SandboxRef& ref, Operation&) -> Result<PortView> {
        auto opened = state_.with([&](State& state) -> Result<PortView> {
          auto& ports = state[ref.id];
          if (const auto found = ports.find(port); found != ports.end()) return found->second.view;
          if (ports.size() >= kMostOpen) {
            return failure(ErrorCode::ResourceExhausted,
                           fmt::format("the sandbox has {} open ports, which is the most: close "
                                       "one that is not needed",
                                       kMostOpen));
          }
          const PortView view{ref.id, port, random_id(kTokenDigits),
                              std::chrono::system_clock::now(), 0};
          ports.emplace(port, Open{ref.tenant, view});
          return view;
        });
        // A sandbox that ended meanwhile has been forgotten already.
        if (!uses_.table.has(ref.id)) {
          state_.with([&](State& state) { state.erase(ref.id); });
          return no_such_sandbox(id);
        }
        return opened;
      });
}

Result<std::vector<PortView>> Ports::list(const Caller& caller, const std::string& id) {
  const SandboxRef ref = TRY(uses_.table.find(caller.tenant, id));
  return state_.with([&](const State& state) {
    std::vector<PortView> views;
    const auto found = state.find(ref.id);
    if (found == state.end()) return views;
    for (const auto& [port, open] : found->second)
      views.push_back(open.view);
    return views;
  });
}

Result<> Ports::close(const Caller& caller, const std::string& id, std::uint16_t port) {
  const SandboxRef ref = TRY(uses_.table.find(caller.tenant, id));
  const auto closed = state_.with([&](State& state) -> std::optional<PortView> {
    const auto found = state.find(ref.id);
    if (found == state.end()) return std::nullopt;
    const auto open = found->second.find(port);
    if (open == found->second.end()) return std::nullopt;
    PortView view = std::move(open->second.view);
    found->second.erase(open);
    if (found->second.empty()) state.erase(found);
    return view;
  });
  if (!closed) {
    return failure(ErrorCode::NotFound, fmt::format("port {} of the sandbox is not open", port));
  }
  note_closed(caller, subject_of(ref), *closed);
  return {};
}

void Ports::forget(const SandboxEntry& entry) {
  const auto closed = state_.with([&](State& state) {
    auto node = state.extract(entry.id);
    return node ? std::move(node.mapped()) : std::map<std::uint16_t, Open>();
  });
  for (const auto& [port, open] : closed)
    note_closed({open.tenant, "daemon"}, {entry.id, entry.session, entry.secrets}, open.view);
}

void Ports::note_closed(const Caller& caller, const Subject& subject, const PortView& view) {
  Ending ending;
  ending.detail = fmt::format("port {}: {} requests", view.port, view.requests);
  uses_.operations.note(caller, "close port", subject, ending);
}

Ports::Open* Ports::find(State& state, const Ticket& ticket) {
  const auto found = state.find(ticket.sandbox);
  if (found == state.end()) return nullptr;
  const auto open = found->second.find(ticket.port);
  if (open == found->second.end()) return nullptr;
  // The time that this takes tells at most about the hash.
  const bool is_valid = sha256_hex(open->second.view.token) == sha256_hex(ticket.token);
  return is_valid ? &open->second : nullptr;
}

std::optional<std::string> Ports::tenant_of(const Ticket& ticket) {
  return state_.with([&](State& state) -> std::optional<std::string> {
    const Open* open = find(state, ticket);
    return open == nullptr ? std::nullopt : std::optional(open->tenant);
  });
}

Result<PortConnection> Ports::connect(const Ticket& ticket, int stop) {
  const auto tenant = state_.with([&](State& state) -> std::optional<std::string> {
    Open* open = find(state, ticket);
    if (open == nullptr) return std::nullopt;
    ++open->view.requests;
    return open->tenant;
  });
  if (!tenant) return not_open();
  // The tenant may have given the sandbox back meanwhile.
  const auto ref = uses_.table.find(*tenant, ticket.sandbox);
  if (!ref) return not_open();
  auto use = uses_.table.use(ref->id);
  TRY(uses_.sandboxes.wake(ref->id));
  auto connection = TRY(InsideConnection::dial(uses_.runtime, ref->id, ticket.port));
  return PortConnection{std::move(use), TRY(InsideSocket::open(std::move(connection), stop))};
}

}  // namespace nutshell::service
