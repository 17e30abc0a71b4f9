#include "runtime/runtime.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>

#include "base/defer.h"
#include "base/random_id.h"
#include "core/check_network.h"
#include "core/left_running.h"
#include "core/sandbox_id.h"
#include "core/stream_carrier.h"
#include "runtime/apply_record.h"
#include "runtime/lost_stream.h"
#include "runtime/network.h"
#include "runtime/output_store.h"
#include "runtime/saved_changes.h"
#include "runtime/toolchains.h"
#include "saved/kept_caches.h"
#include "wire/exec_loop.h"

namespace nutshell {
namespace {

bool has_labels(const SandboxSpec& spec, const std::map<std::string, std::string>& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const auto& label) {
    const auto found = spec.labels.find(label.first);
    return found != spec.labels.end() && found->second == label.second;
  });
}

Failure no_such_sandbox(const std::string& id) {
  return failure(ErrorCode::NotFound,
                 fmt::format("no sandbox '{}': it may have reached its ttl; 'nutshell list' shows "
                             "the sandboxes, 'nutshell create' makes one",
                             id));
}

// Runs a command over the first connection. If an engine carries it and does not answer, the caller
// waits less long than for a slow init.
Result<ExecResult> exec_over_first(wire::InitClient& client, const ExecRequest& request,
                                   wire::ExecIo& io, Backend& backend) {
  wire::Channel& channel = client.channel();
  const std::uint32_t conversation = channel.new_conversation();
  channel.queue(conversation, wire::Exec{random_id(16), request, wire::kWindow});
  auto bounds = wire::ExecBounds::of(request.limits);
  if (StreamCarrier* carrier = backend.stream_carrier())
    bounds.is_cut_off = [carrier] { return carrier->is_silent(); };
  return wire::ExecLoop(channel, conversation, io, bounds).run();
}

Result<ExecResult> checked_loss(ExecResult result, const Gone& gone) {
  if (gone.reason == Gone::Reason::NeverStarted) return failure(ErrorCode::Unsupported, gone.text);
  return explained(std::move(result), gone);
}

bool has_host_programs(const std::string& backend) {
  const auto& entries = backend_registry();
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](const BackendEntry& entry) { return entry.name == backend; });
  return backend.empty() ? entries.front().has_host_programs
                         : found != entries.end() && found->has_host_programs;
}

}  // namespace

// ---- Backends -----------------------------------------------------------------------------------

const std::vector<BackendEntry>& Runtime::backends() const {
  return context_.daemon ? daemon_backend_entry() : backend_registry();
}

Result<Runtime::BackendLease> Runtime::backend(const std::string& wanted) {
  // A daemon accepts the names of all its backends, so any entry will do.
  const std::string& name = wanted.empty() || context_.daemon ? backends().front().name : wanted;
  // Takes the backend given back last: it may hold the first stream of the sandbox that it started.
  auto idle = idle_backends_.with([&name](auto& all) {
    std::unique_ptr<Backend> last;
    const auto found = all.find(name);
    if (found == all.end() || found->second.empty()) return last;
    last = std::move(found->second.back());
    found->second.pop_back();
    return last;
  });
  if (idle) return BackendLease(*this, std::move(idle));
  std::string names;
  for (const BackendEntry& entry : backends()) {
    if (entry.name == name) return BackendLease(*this, entry.make(context_));
    names += (names.empty() ? "" : ", ") + entry.name;
  }
  return failure(ErrorCode::InvalidArgument,
                 fmt::format("no backend '{}': choose one of {}", name, names));
}

void Runtime::give_back(std::unique_ptr<Backend> backend) {
  idle_backends_.with([&backend](auto& all) {
    auto& idle = all[std::string(backend->name())];
    if (idle.size() < kMostIdleBackends) idle.push_back(std::move(backend));
  });
}

Result<const BackendEntry*> Runtime::entry_of(const std::string& id) const {
  if (!is_sandbox_id_beginning(id)) {
    return failure(ErrorCode::InvalidArgument,
                   fmt::format("'{}' is not a sandbox id: 'nutshell list' shows the ids", id));
  }
  for (const BackendEntry& entry : backends()) {
    if (context_.daemon || entry.id_letter == id.front()) return &entry;
  }
  return no_such_sandbox(id);
}

Result<Runtime::BackendLease> Runtime::backend_of(const std::string& id) {
  return backend(TRY(entry_of(id))->name);
}

template <typename Step>
auto Runtime::at(const std::string& id, Step step)
    -> decltype(step(std::declval<Backend&>(), std::string())) {
  const std::string whole_id = TRY(this->whole_id(id));
  const BackendLease where = TRY(backend_of(whole_id));
  auto done = step(*where, whole_id);
  if (!done && done.error().code == ErrorCode::NotFound) return no_such_sandbox(id);
  return done;
}

void Runtime::tidy(const std::function<bool(const std::string& sandbox)>& is_known) {
  streams_.tidy(is_known);
  idle_backends_.with([](auto& all) {
    for (const auto& [name, idle] : all) {
      for (const auto& backend : idle)
        backend->tidy();
    }
  });
}

// ---- Sandboxes ----------------------------------------------------------------------------------

// In the process of the caller, who may have other tools than the user of a daemon.
Result<SandboxSpec> Runtime::with_tools(const SandboxSpec& spec) {
  TRY(check_spec(spec));
  if (spec.toolchains == Toolchains::None) return spec;
  if (spec.image.empty() && has_host_programs(spec.backend)) {
    SandboxSpec whole = with_toolchains(spec, this_user());
    TRY(check_spec(whole));
    return whole;
  }
  return failure(ErrorCode::Unsupported,
                 "toolchains auto: this machine's tools fit only a sandbox of the native backend "
                 "without an image; leave it out, or say none");
}

Result<ExecResult> Runtime::run(const SandboxSpec& wanted, const ExecRequest& request,
                                wire::ExecIo& io, const RunHooks& hooks) {
  const SandboxSpec spec = TRY(with_tools(wanted));
  TRY(check_exec(request));
  const BackendLease chosen = TRY(backend(spec.backend));
  ChildProcess relay;  // ends with the sandbox
  const std::string id =
      TRY(start_with_network(context_, *chosen, spec, Lifetime::WithCaller, &relay));
  const Defer stopped([&] {
    (void)chosen->stop(id);  // killing our own process cannot fail
    if (!context_.daemon) end_network(id);
  });
  wire::InitClient client(TRY(chosen->connect(id)));
  if (hooks.before) TRY(hooks.before(client));
  auto result = exec_over_first(client, request, io, *chosen);
  if (result && result->outcome == Outcome::Lost) {
    result = checked_loss(std::move(*result), chosen->why_gone(id));
  } else if (result && hooks.after) {
    hooks.after(client);
  }
  if (result && result->detail.starts_with(kLeftRunning))
    result->detail = "what it left running ended with the sandbox";
  if (result && hooks.network && !context_.daemon) report_network(id, hooks);
  if (result && hooks.ended) hooks.ended(*result);
  return result;
}

Result<std::string> Runtime::create(const SandboxSpec& wanted, const Prepare& prepare) {
  const SandboxSpec spec = TRY(with_tools(wanted));
  const BackendLease chosen = TRY(backend(spec.backend));
  SandboxSpec dated = spec;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  if (!spec.workspace.empty()) {
    dated.workspace_began_ns =
        std::to_string(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
  }
  if (!prepare) return start_with_network(context_, *chosen, dated, Lifetime::Kept);
  std::string id =
      TRY(start_with_network(context_, *chosen, dated, Lifetime::WithCallerUntilReleased));
  Defer stopped([&] {
    (void)chosen->stop(id);  // otherwise it ends with this process
    if (!context_.daemon) end_network(id);
  });
  TRY(prepare(id));
  TRY(chosen->release(id));
  stopped.release();
  return id;
}

Result<int> Runtime::with_temporary(const SandboxSpec& wanted,
                                    const std::function<Result<int>(const std::string& id)>& step) {
  const SandboxSpec spec = TRY(with_tools(wanted));
  const BackendLease chosen = TRY(backend(spec.backend));
  ChildProcess relay;  // ends with the sandbox
  const std::string id =
      TRY(start_with_network(context_, *chosen, spec, Lifetime::WithCallerUntilReleased, &relay));
  const Defer stopped([&] {
    streams_.close(id);
    (void)chosen->stop(id);  // otherwise it ends with this process
    if (!context_.daemon) end_network(id);
  });
  return step(id);
}

Result<std::string> Runtime::whole_id(const std::string& id) {
  if (is_sandbox_id(id)) return id;
  return TRY(find(id)).id;
}

Result<SandboxStatus> Runtime::find(const std::string& id) {
  const BackendEntry* entry = TRY(entry_of(id));
  std::vector<SandboxStatus> matches;
  for (SandboxStatus& status : TRY(list_of(entry->name))) {
    if (status.id == id) return std::move(status);
    if (status.id.starts_with(id)) matches.push_back(std::move(status));
  }
  if (matches.empty()) return no_such_sandbox(id);
  if (matches.size() == 1) return std::move(matches.front());
  return failure(
      ErrorCode::InvalidArgument,
      fmt::format("'{}' is the beginning of {} ids: give more letters", id, matches.size()));
}

Result<> Runtime::destroy(const std::string& id) {
  auto found = find(id);
  // A backend that cannot list its sandboxes now can still record that this one is to be removed.
  const bool is_listed_later =
      !found && found.error().code != ErrorCode::NotFound && is_sandbox_id(id);
  const std::string whole_id = is_listed_later ? id : TRY(std::move(found)).id;
  streams_.close(whole_id);
  TRY(TRY(backend_of(whole_id))->stop(whole_id));
  if (!context_.daemon) end_network(whole_id);
  if (!has_saved(whole_id)) TRY(ApplyRecord(whole_id).remove());
  return remove_outputs(whole_id);
}

Result<SandboxSpec> Runtime::spec_of(const std::string& id) {
  SandboxStatus status = TRY(find(id));
  status.spec.environment = TRY(TRY(backend_of(status.id))->environment_of(status.id));
  std::erase_if(status.spec.labels,
                [](const auto& label) { return label.first.starts_with("nutshell."); });
  TRY(take_present_network(status.id, status.spec));
  return std::move(status.spec);
}

Result<SandboxStats> Runtime::stats(const std::string& id) {
  return at(id, [](Backend& where, const std::string& whole_id) { return where.stats(whole_id); });
}

// Closes the idle streams, because a paused init does not read them.
Result<> Runtime::pause(const std::string& id) {
  return at(id, [this](Backend& where, const std::string& whole_id) {
    streams_.close(whole_id);
    return where.pause(whole_id);
  });
}

Result<> Runtime::resume(const std::string& id) {
  return at(id, [](Backend& where, const std::string& whole_id) { return where.resume(whole_id); });
}

Result<> Runtime::restack(const std::string& id, const std::vector<std::string>& layers) {
  return at(id, [&layers](Backend& where, const std::string& whole_id) -> Result<> {
    LayerStacker* stacker = where.layer_stacker();
    if (stacker != nullptr) return stacker->restack(whole_id, layers);
    return failure(ErrorCode::Unsupported, "this backend has no layers");
  });
}

// ---- Network ------------------------------------------------------------------------------------

Result<wire::EgressAnswer> Runtime::ask_network_of(const std::string& id,
                                                   const wire::EgressQuestion& question) {
  if (context_.daemon)
    return failure(ErrorCode::Unsupported, "the network of a daemon's sandbox: ask the daemon");
  const std::string whole_id = TRY(this->whole_id(id));
  auto answer = ask_network(whole_id, question);
  if (answer || answer.error().code != ErrorCode::NotFound) return answer;
  const SandboxStatus status = TRY(find(whole_id));
  if (mode_of(status.spec.network) != NetworkMode::None) return network_has_ended();
  return failure(ErrorCode::Conflict,
                 fmt::format("sandbox {} was started without a network; make another one with "
                             "--allow HOST",
                             whole_id));
}

Result<NetworkStatus> Runtime::network(const std::string& id) {
  return TRY(ask_network_of(id, {})).status;
}

Result<NetworkStatus> Runtime::set_network(const std::string& id, const NetworkPolicy& policy) {
  TRY(check_network(policy));
  wire::EgressQuestion question;
  question.kind = wire::EgressQuestion::Kind::SetPolicy;
  question.policy = policy;
  return TRY(ask_network_of(id, question)).status;
}

Result<std::vector<NetworkEvent>> Runtime::network_events(const std::string& id,
                                                          std::uint64_t after) {
  wire::EgressQuestion question;
  question.kind = wire::EgressQuestion::Kind::Events;
  question.after = after;
  return TRY(ask_network_of(id, question)).events;
}

void Runtime::report_network(const std::string& id, const RunHooks& hooks) {
  wire::EgressQuestion question;
  question.kind = wire::EgressQuestion::Kind::Events;
  const auto answer = ask_network(id, question);
  if (answer) hooks.network(answer->status, answer->events);
}

Gone Runtime::why_gone(const std::string& id) {
  const auto where = backend_of(id);
  return where ? (*where)->why_gone(id) : Gone();
}

// ---- Streams ------------------------------------------------------------------------------------

Result<UniqueFd> Runtime::open_stream(const std::string& id) {
  return at(id,
            [](Backend& where, const std::string& whole_id) { return where.connect(whole_id); });
}

Result<wire::InitClient> Runtime::connect(const std::string& id) {
  const std::string whole_id = TRY(this->whole_id(id));
  if (auto idle = streams_.take(whole_id)) return std::move(*idle);
  return wire::InitClient(TRY(open_stream(whole_id)));
}

Result<ExecResult> Runtime::exec(const std::string& id, const ExecRequest& request,
                                 wire::ExecIo& io) {
  TRY(check_exec(request));
  const std::string whole_id = TRY(this->whole_id(id));
  wire::InitClient client = TRY(connect(whole_id));
  const std::uint64_t sent_before = client.channel().sent_bytes();
  auto result = client.exec(request, io);
  // If an idle stream broke before anything was sent, a new one is tried.
  const bool is_unsent = sent_before > 0 && client.channel().sent_bytes() == sent_before;
  if (result && result->outcome == Outcome::Lost && is_unsent) {
    client = wire::InitClient(TRY(open_stream(whole_id)));
    result = client.exec(request, io);
  }
  if (!result) return result;
  if (result->outcome == Outcome::Lost) return checked_loss(std::move(*result), why_gone(whole_id));
  keep(whole_id, std::move(client));
  return result;
}

Result<> Runtime::ping(const std::string& id, const Deadline& deadline) {
  return with_init(id, [&deadline](wire::InitClient& client) { return client.ping(deadline); });
}

// ---- Lists --------------------------------------------------------------------------------------

Result<std::vector<SandboxStatus>> Runtime::list_of(
    const std::string& backend, const std::map<std::string, std::string>& labels) {
  const BackendLease asked = TRY(this->backend(backend));
  std::vector<SandboxStatus> wanted;
  for (SandboxStatus& status : TRY(asked->list())) {
    if (!context_.daemon) status.spec.backend = asked->name();
    if (has_labels(status.spec, labels)) wanted.push_back(std::move(status));
  }
  return wanted;
}

Result<Runtime::Listing> Runtime::list_reachable(const std::map<std::string, std::string>& labels) {
  // In parallel, so that a backend that hangs does not delay the others.
  using Listed = Result<std::vector<SandboxStatus>>;
  std::vector<std::future<Listed>> others;
  for (const BackendEntry& entry : backends()) {
    if (&entry == &backends().front()) continue;
    others.push_back(std::async(std::launch::async,
                                [this, &entry, &labels] { return list_of(entry.name, labels); }));
  }
  Listing listing;
  for (const BackendEntry& entry : backends()) {
    const bool is_first = &entry == &backends().front();
    Listed listed =
        is_first ? list_of(entry.name, labels)
                 : others.at(static_cast<std::size_t>(&entry - &backends().front()) - 1).get();
    // The native backend asks only programs of this user, so its errors are reported.
    if (is_first && !listed) return Failure(std::move(listed).error());
    if (!listed) {
      listing.unanswered.emplace(entry.name, std::move(listed).error());
      continue;
    }
    std::move(listed->begin(), listed->end(), std::back_inserter(listing.sandboxes));
  }
  return listing;
}

Result<std::vector<SandboxStatus>> Runtime::list(const std::map<std::string, std::string>& labels) {
  Listing listing = TRY(list_reachable(labels));
  if (listing.unanswered.empty()) return std::move(listing.sandboxes);
  auto& [name, error] = *listing.unanswered.begin();
  return while_doing("list the sandboxes of " + name, Error(error));
}

Result<Protections> Runtime::check(const SandboxSpec& spec) {
  TRY(check_spec(spec));
  TRY(check_network_of(spec));
  TRY(check_network_rules(context_, spec.network));
  return TRY(backend(spec.backend))->check(spec);
}

Result<Protections> Runtime::probe(const std::string& name) {
  const BackendLease chosen = TRY(backend(name));
  if (!context_.daemon) return chosen->probe();
  // A daemon takes the backend's name only in a spec.
  SandboxSpec spec;
  spec.backend = name;
  return chosen->check(spec);
}

// ---- Sweeping -----------------------------------------------------------------------------------

namespace {

// Whether a sandbox may live. Asks the backends at the first call, which comes after the files to
// sweep were listed, so that a sandbox made meanwhile loses nothing. All sandboxes of a backend
// that does not answer count as living.
class LivingSandboxes {
 public:
  explicit LivingSandboxes(Runtime& runtime) : runtime_(runtime) {}
  bool operator()(const std::string& id) {
    if (!listing_) listing_ = runtime_.list_reachable();
    if (!*listing_) return true;
    const auto& listed = (*listing_)->sandboxes;
    const bool is_listed = std::any_of(listed.begin(), listed.end(),
                                       [&id](const auto& status) { return status.id == id; });
    const auto owner = runtime_.backend_of(id);
    return is_listed || (owner && (*listing_)->unanswered.contains(std::string((*owner)->name())));
  }

 private:
  Runtime& runtime_;
  std::optional<Result<Runtime::Listing>> listing_;
};

}  // namespace

SweepReport Runtime::sweep(SweepMode mode) {
  SweepReport all;
  for (const BackendEntry& entry : backends()) {
    const auto chosen = backend(entry.name);
    if (!chosen) continue;
    SweepReport report = (*chosen)->sweep(mode);
    std::move(report.removed.begin(), report.removed.end(), std::back_inserter(all.removed));
    std::move(report.failed.begin(), report.failed.end(), std::back_inserter(all.failed));
  }
  const auto bounds = saved::Bounds::from_environment();
  const auto saved = saved::SavedWorkspaces::open();
  if (bounds && saved) saved->make_room(*bounds, 0, mode, all);
  const auto cache_bounds = saved::cache_bounds();
  const auto caches = saved::KeptCaches::directory();
  if (cache_bounds && caches) saved::KeptCaches::make_room(*caches, *cache_bounds, mode, all);
  // A daemon that shares our directory sweeps these files itself.
  if (context_.daemon && context_.daemon->shares_directory) return all;
  sweep_networks(mode, all);
  sweep_outputs(LivingSandboxes(*this), mode, all);
  LivingSandboxes is_living(*this);
  sweep_apply_records([&](const std::string& id) { return has_saved(id) || is_living(id); }, mode,
                      all);
  return all;
}

}  // namespace nutshell
