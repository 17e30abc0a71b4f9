// The files that sessions keep, and the ends that have to wait for them.
#include <fmt/format.h>

#include "service/sessions/sessions.h"

namespace nutshell::service {
namespace {

// A sandbox whose files are being kept lives on for that.
constexpr std::chrono::minutes kKeepTime{2};

}  // namespace

// Before the setup, which sees what was kept.
Result<> Sessions::bring_workspace(const Key& key, const Session& session) {
  if (!session.request.keeps_workspace) return {};
  return ground_.runtime.with_init(session.sandbox, [&](wire::InitClient& client) {
    return ground_.workspaces.restore(key.first, key.second, client);
  });
}

Result<> Sessions::keep_workspace(const Held& held) {
  const auto session = copy_of({held.tenant, held.session});
  if (!session || !session->request.keeps_workspace || !session->is_ready || session->is_kept ||
      session->sandbox != held.id)
    return {};
  ground_.sandboxes.give_time(held.id, kKeepTime);
  const auto keep = [&]() -> Result<> {
    if (held.state == SandboxState::Paused) TRY(ground_.sandboxes.resume(held.id));
    const auto save = [&] {
      return ground_.runtime.with_init(held.id, [&](wire::InitClient& client) {
        return ground_.workspaces.save(held.tenant, held.session, client);
      });
    };
    auto saved = save();
    if (saved || saved.error().code == ErrorCode::ResourceExhausted) return saved;
    // What the sandbox's user made unreadable for itself is made readable, by that user.
    ExecRequest request;
    request.argv = {"/bin/chmod", "-R", "u+rwX", "/workspace"};
    wire::CapturedOutput ignored;
    TRY(ground_.runtime.exec(held.id, request, ignored));
    return save();
  };
  auto kept = keep();
  ground_.operations.note(
      {held.tenant, "daemon"}, "keep workspace", {held.id, held.session, {}},
      {kept ? "ok" : "failed", kept ? "" : kept.error().message, {}, {}, {}, 0});
  return kept;
}

// Whoever asks for the end can still do something about files for which there is no room.
Result<> Sessions::keep_before_end(const Key& key, const Session& session) {
  const auto sandbox = ground_.table.copy_of(session.sandbox);
  if (!sandbox) return {};
  auto kept = keep_workspace(*sandbox);
  if (kept) {
    sessions_.with([&](auto& sessions) { sessions[key].is_kept = true; });
  } else if (kept.error().code == ErrorCode::ResourceExhausted) {
    return while_doing(fmt::format("the session goes on, or loses its files if sandbox {} is "
                                   "destroyed first",
                                   session.sandbox),
                       std::move(kept).error());
  }
  return {};
}

// Copying takes as long as the files are large; the clocks wait for nobody.
bool Sessions::ends_apart(const Held& held, const std::string& why) {
  const auto session = copy_of({held.tenant, held.session});
  if (!session || !session->request.keeps_workspace || session->sandbox != held.id) return false;
  const auto started = ground_.keepers.start(held.id, [this, held, why] { end_kept(held, why); });
  if (started == NamedJobs::Start::Refused) ground_.sandboxes.give_time(held.id, kKeepTime);
  return true;
}

void Sessions::end_kept(const Held& held, const std::string& why) {
  const auto alone = lock({held.tenant, held.session});
  const auto now = ground_.table.copy_of(held.id);
  const bool is_unused = now && now->deadline == held.deadline && now->last_used == held.last_used;
  if (is_unused) (void)ground_.sandboxes.end(held.id, why);
}

}  // namespace nutshell::service
