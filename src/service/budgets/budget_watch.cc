#include "service/budgets/budget_watch.h"

namespace nutshell::service {
namespace {

using namespace std::chrono_literals;

constexpr auto kInitsOwn = 5ms;  // what init may use for itself between two looks

}  // namespace

void BudgetWatch::count(const std::string& tenant, const std::string& session,
                        const std::string& sandbox) {
  if (!ground_.budgets.is_bounded(tenant, session)) return;
  const auto held = ground_.table.copy_of(sandbox);
  if (!held || held->is_unseen) return;
  // Where the backend does not count, the CPU time is the sum of what execs report.
  const auto stats = ground_.runtime.stats(sandbox);
  if (stats && stats->cpu_time)
    ground_.budgets.count_cpu(tenant, session, sandbox, *stats->cpu_time);
}

void BudgetWatch::look(const std::string& backend) {
  const auto wanted = ground_.table.those([&backend](const Held& held) {
    return held.spec.backend == backend && !held.session.empty() && !held.is_unseen &&
           held.state == SandboxState::Running;
  });
  for (const Held& held : wanted) {
    count(held.tenant, held.session, held.id);
    end_all(held);
  }
  emptied_.with([&](auto& emptied) {
    std::erase_if(emptied, [this](const auto& item) { return !ground_.table.copy_of(item.first); });
  });
}

void BudgetWatch::end_all(const Held& held) {
  const std::string reason = ground_.budgets.why_over(held.tenant, held.session);
  if (reason.empty()) return;
  const auto used = ground_.budgets.usage(held.tenant, held.session).cpu_time;
  const bool is_empty = emptied_.with([&](auto& emptied) {
    const auto found = emptied.find(held.id);
    return found != emptied.end() && used - found->second < kInitsOwn;
  });
  if (is_empty) return;
  const auto ended = ground_.runtime.with_init(
      held.id, [&reason](wire::InitClient& client) { return client.end_all(reason); });
  if (!ended) return;  // the next look tries again
  emptied_.with([&](auto& emptied) { emptied[held.id] = used; });
}

}  // namespace nutshell::service
