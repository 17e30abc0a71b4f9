#include "server/mcp/service/service_sandboxes.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/sha256.h"
#include "core/json_text.h"
#include "runtime/output_store.h"
#include "server/http/json.h"
#include "server/http/views.h"
#include "server/mcp/sandbox/sandbox_binding.h"
#include "server/mcp/sandbox/workspace_view.h"
#include "service/evidence.h"
#include "service/execs/init_streams.h"
#include "service/sandboxes/sandbox_files.h"
#include "service/sessions/sessions.h"

namespace nutshell::mcp {
namespace {

// The part of a lease after which it is renewed: a client with rare calls keeps its sandbox, and
// one with frequent calls does not write to the database each time.
constexpr int kRenewals = 16;
constexpr std::size_t kMostListed = 1000;

// A process of the same user is the same owner.
std::string lasting_name(const std::string& who) {
  return who.starts_with("uid ") ? who.substr(0, who.find(" pid ")) : who;
}

// A name that a client gives is the name of a session of the service, so that both ways lead to the
// same one.
std::string name_of(const SessionKey& session) {
  return session.name.empty() ? "mcp-" + session.label : session.name;
}

SandboxStatus status_of(service::SandboxView view) {
  SandboxStatus status;
  status.id = std::move(view.id);
  status.spec = std::move(view.spec);
  status.state = view.state;
  status.age = view.age;
  status.time_left = view.time_left;
  status.protections = std::move(view.protections);
  status.why_copied = std::move(view.why_copied);
  return status;
}

}  // namespace

std::string ServiceSandboxes::admit(service::Caller caller) {
  const std::string lasting = lasting_name(caller.who);
  std::string owner =
      sha256_hex(fmt::format("{}:{}{}", caller.tenant.size(), caller.tenant, lasting));
  callers_.with([&](auto& callers) { callers.insert_or_assign(owner, std::move(caller)); });
  return owner;
}

Result<service::Caller> ServiceSandboxes::caller_of(const std::string& owner) {
  return callers_.with([&](const auto& callers) -> Result<service::Caller> {
    const auto found = callers.find(owner);
    if (found == callers.end())
      return failure(ErrorCode::PermissionDenied,
                     "this client is not known any more: connect again");
    return found->second;
  });
}

// The spec, also an image on this machine, comes from the operator and not from the client.
Result<service::Caller> ServiceSandboxes::maker_for(const std::string& owner) {
  service::Caller caller = TRY(caller_of(owner));
  caller.host_files = service::HostFiles::Allowed;
  return caller;
}

std::optional<std::string> ServiceSandboxes::revision_of(const SessionKey& session) {
  const auto caller = caller_of(session.owner);
  if (!caller) return std::nullopt;
  const auto view = service_.sessions().find(*caller, name_of(session));
  if (!view) return std::nullopt;
  const auto label = view->labels.find(kRevisionLabel);
  return label != view->labels.end() ? std::optional(label->second) : std::nullopt;
}

Result<Sandboxes::Bound> ServiceSandboxes::ensure(const SessionKey& session,
                                                  const SandboxSpec& spec) {
  service::SessionRequest request;
  request.name = name_of(session);
  request.spec = spec;
  request.lease = options_.lease;
  request.labels = spec.labels;
  const auto view = TRY(service_.sessions().ensure(TRY(maker_for(session.owner)), request));
  if (!view.was_created) return Bound{view.sandbox_id, Bound::How::Found};
  return Bound{view.sandbox_id, view.lost.empty() ? Bound::How::Made : Bound::How::MadeAnew};
}

Result<std::string> ServiceSandboxes::find(const SessionKey& session) {
  const auto caller = TRY(caller_of(session.owner));
  const auto view = service_.sessions().find(caller, name_of(session));
  if (!view || !service_.find(caller, view->sandbox_id))
    return failure(ErrorCode::NotFound, "there is no sandbox yet: the first tool call makes one");
  return view->sandbox_id;
}

std::chrono::milliseconds ServiceSandboxes::ensured_for() const {
  return options_.lease / kRenewals;
}

Result<std::vector<SandboxStatus>> ServiceSandboxes::list(const SessionKey& session) {
  const auto caller = TRY(caller_of(session.owner));
  service::ListRequest request;
  request.labels = {{kSessionLabel, session.label}};
  request.most = kMostListed;
  std::vector<SandboxStatus> all;
  for (service::SandboxView& view : TRY(service_.list(caller, request)).sandboxes)
    all.push_back(status_of(std::move(view)));
  // A session of this name that was begun elsewhere has none of our labels.
  const auto own = service_.sessions().find(caller, name_of(session));
  const auto is_own = [&own](const SandboxStatus& status) { return status.id == own->sandbox_id; };
  if (!own || std::any_of(all.begin(), all.end(), is_own)) return all;
  if (auto view = service_.find(caller, own->sandbox_id)) all.push_back(status_of(*view));
  return all;
}

Result<std::string> ServiceSandboxes::create(const SessionKey& session, const SandboxSpec& spec) {
  return TRY(service_.create(TRY(maker_for(session.owner)), {spec, {}})).id;
}

Result<> ServiceSandboxes::destroy(const Place& place) {
  const auto caller = TRY(caller_of(place.owner));
  const auto view = TRY(service_.find(caller, place.id));
  if (!view.session.empty()) return service_.sessions().end(caller, view.session);
  return service_.destroy(caller, place.id);
}

Result<std::string> ServiceSandboxes::fork(const Place& place) {
  return TRY(service_.fork(TRY(caller_of(place.owner)), place.id)).id;
}

Result<ToolResult> ServiceSandboxes::call(const Place& place, const Tool& tool,
                                          const nlohmann::json& arguments,
                                          const ToolRunnerOptions& options) {
  const std::string name = tool.name.substr(options_.tool_prefix.size());
  auto reply =
      TRY(service_.call_tool(TRY(caller_of(place.owner)), place.id, name, arguments, options));
  return std::move(reply.result);
}

Result<StoredOutput> ServiceSandboxes::output(const Place& place, const std::string& output_id) {
  // Outputs are stored by sandbox id: check first that the caller owns the sandbox.
  const auto view = TRY(service_.find(TRY(caller_of(place.owner)), place.id));
  OutputStore store = TRY(OutputStore::open(view.id));
  return store.load(output_id);
}

Result<std::string> ServiceSandboxes::read_file(const Place& place, const std::string& path,
                                                std::size_t most) {
  std::string bytes;
  const auto take = [&bytes](std::string_view piece) -> Result<> {
    bytes.append(piece);
    return {};
  };
  TRY(service_.files().read(TRY(caller_of(place.owner)), place.id, reading_of(path, most), take));
  return whole_file(std::move(bytes), path, most);
}

Result<wire::InitClient> ServiceSandboxes::connect(const Place& place) {
  const auto opened = TRY(service_.streams().open(TRY(caller_of(place.owner)), place.id));
  // The view asks only for names and changes, so the stream needs no meter.
  UniqueFd stream(::fcntl(opened->descriptor.get(), F_DUPFD_CLOEXEC, 0));
  if (!stream) return syscall_failure("fcntl");
  return wire::InitClient(std::move(stream));
}

Result<std::vector<std::string>> ServiceSandboxes::names(const Place& place,
                                                         const std::string& directory,
                                                         std::size_t most) {
  auto client = TRY(connect(place));
  return names_in(client, directory, most);
}

Result<std::string> ServiceSandboxes::diff(const Place& place, std::size_t most) {
  auto client = TRY(connect(place));
  CallMemory memory = TRY(service_.call_memory(TRY(caller_of(place.owner))));
  return patch_of(client, most, memory);
}

Result<std::string> ServiceSandboxes::record(const Place& place, std::size_t most) {
  const auto entries = TRY(service_.evidence().history(TRY(caller_of(place.owner)), place.id));
  std::string lines;
  for (std::size_t i = entries.size() - std::min(entries.size(), most); i < entries.size(); ++i)
    lines += dump_json(server::to_json(entries[i])) + "\n";
  return lines;
}

}  // namespace nutshell::mcp
