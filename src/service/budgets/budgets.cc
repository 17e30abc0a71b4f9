#include "service/budgets/budgets.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace nutshell::service {
namespace {

using std::chrono::duration_cast;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

Failure used_up(const std::string& session, std::string_view what, const std::string& of) {
  return failure(ErrorCode::ResourceExhausted,
                 fmt::format("session {} has used its budget of {} ({}), or what runs may use it",
                             session, what, of));
}

template <typename T>
T left_of(T budget, T used, T reserved) {
  return std::max(T{0}, budget - used - reserved);
}

void add(Usage& to, const Usage& amount) {
  to.execs += amount.execs;
  to.cpu_time += amount.cpu_time;
  to.wall_time += amount.wall_time;
  to.output_bytes += amount.output_bytes;
}

void subtract(Usage& from, const Usage& amount) {
  from.execs -= std::min(from.execs, amount.execs);
  from.cpu_time -= std::min(from.cpu_time, amount.cpu_time);
  from.wall_time -= std::min(from.wall_time, amount.wall_time);
  from.output_bytes -= std::min(from.output_bytes, amount.output_bytes);
}

}  // namespace

Usage usage_of(const ExecResult& result) {
  return {1, result.cpu_time, result.duration, result.stdout_bytes + result.stderr_bytes};
}

void Budgets::define(const std::string& tenant, const std::string& session, const Budget& budget,
                     const Usage& usage) {
  accounts_.with([&](auto& accounts) {
    Account& account = accounts[{tenant, session}];
    account.budget = budget;
    account.used = usage;
  });
}

void Budgets::forget(const std::string& tenant, const std::string& session) {
  accounts_.with([&](auto& accounts) { accounts.erase({tenant, session}); });
}

Usage Budgets::usage(const std::string& tenant, const std::string& session) {
  return accounts_.with([&](auto& accounts) {
    const auto found = accounts.find({tenant, session});
    return found != accounts.end() ? found->second.used : Usage{};
  });
}

// Never below what the kernel and init can enforce: a millisecond, a second of CPU, a byte.
Result<Usage> Budgets::set_aside(const std::string& session, Account& account, ExecLimits& limits) {
  const Budget& budget = account.budget;
  Usage amount;
  amount.execs = 1;
  if (budget.execs > 0 && account.used.execs + account.reserved.execs >= budget.execs)
    return used_up(session, "execs", std::to_string(budget.execs));
  if (budget.wall_time.count() > 0) {
    const auto left = duration_cast<milliseconds>(left_of<microseconds>(
        budget.wall_time, account.used.wall_time, account.reserved.wall_time));
    if (left.count() < 1)
      return used_up(session, "wall time", fmt::format("{} ms", budget.wall_time.count()));
    limits.timeout = std::min(limits.timeout, left);
    amount.wall_time = limits.timeout;
  }
  if (budget.cpu_time.count() > 0) {
    const auto left =
        left_of<microseconds>(budget.cpu_time, account.used.cpu_time, account.reserved.cpu_time);
    if (left.count() < 1)
      return used_up(session, "CPU time", fmt::format("{} ms", budget.cpu_time.count()));
    limits.cpu_time = std::min<milliseconds>(limits.cpu_time, std::chrono::ceil<seconds>(left));
    amount.cpu_time = std::min<microseconds>(limits.cpu_time, left);
  }
  if (budget.output_bytes > 0) {
    const std::uint64_t taken = account.used.output_bytes + account.reserved.output_bytes;
    if (taken >= budget.output_bytes)
      return used_up(session, "output bytes", std::to_string(budget.output_bytes));
    limits.output_bytes = std::min(limits.output_bytes, budget.output_bytes - taken);
    amount.output_bytes = limits.output_bytes;
  }
  return amount;
}

Result<Budgets::Reservation> Budgets::reserve(const std::string& tenant, const std::string& session,
                                              ExecLimits& limits) {
  Reservation reservation{tenant, session, {}};
  if (session.empty()) return reservation;
  const Key key{tenant, session};
  auto counted = accounts_.with([&](auto& accounts) -> Result<Usage> {
    const auto found = accounts.find(key);
    if (found == accounts.end()) {
      reservation.session.clear();
      return Usage{};
    }
    Account& account = found->second;
    reservation.amount = TRY(set_aside(session, account, limits));
    add(account.reserved, reservation.amount);
    Usage counted_now = account.used;
    counted_now.execs += account.reserved.execs;  // after a crash the exec counts as used
    return counted_now;
  });
  if (!counted) return Failure(std::move(counted).error());
  if (reservation.session.empty()) return reservation;
  auto saved = save(key, *counted);
  if (saved) return reservation;
  accounts_.with([&](auto& accounts) { subtract(accounts[key].reserved, reservation.amount); });
  return Failure(std::move(saved).error());
}

void Budgets::settle(const Reservation& reservation, const Usage& used) {
  if (reservation.session.empty()) return;
  Usage counted = used;
  // Does not count output beyond the limit, which no caller got.
  if (reservation.amount.output_bytes > 0)
    counted.output_bytes = std::min(used.output_bytes, reservation.amount.output_bytes);
  const Key key{reservation.tenant, reservation.session};
  const auto now = accounts_.with([&](auto& accounts) -> std::optional<Usage> {
    const auto found = accounts.find(key);
    if (found == accounts.end()) return std::nullopt;
    subtract(found->second.reserved, reservation.amount);
    if (!found->second.counted_sandbox.empty()) counted.cpu_time = microseconds(0);
    add(found->second.used, counted);
    Usage total = found->second.used;
    total.execs += found->second.reserved.execs;
    return total;
  });
  // If it cannot be written, it counts as long as this process lives.
  if (now) (void)save(key, *now);
}

bool Budgets::is_bounded(const std::string& tenant, const std::string& session) {
  if (session.empty()) return false;
  return accounts_.with([&](auto& accounts) {
    const auto found = accounts.find({tenant, session});
    if (found == accounts.end()) return false;
    const Budget& budget = found->second.budget;
    return budget.cpu_time.count() > 0 || budget.wall_time.count() > 0 || budget.output_bytes > 0;
  });
}

std::optional<microseconds> Budgets::last_count(const Key& key, const std::string& sandbox) {
  std::optional<microseconds> counted;
  // Starts again with a count that cannot be read.
  (void)database_.query(
      "SELECT counted_us FROM session_clocks WHERE tenant=? AND name=? AND sandbox=?",
      {key.first, key.second, sandbox},
      [&counted](const Row& row) { counted = microseconds(row.number(0)); });
  return counted;
}

// A process that an exec left behind takes wall time for as long as it works. Init's own work is
// too little to count, and so is a process that only sleeps.
void Budgets::count_background(Account& account, Clock::time_point now) {
  constexpr auto kLook = milliseconds(200);  // as the count of CPU time is too coarse for less
  constexpr auto kInitsOwn = milliseconds(5);
  constexpr int kBusy = 50;  // one part of CPU in this many of wall time is work all the time
  const bool runs_execs = account.reserved.execs > 0;
  if (!runs_execs && now - account.looked_at < kLook) return;
  const microseconds used_cpu = account.counted_cpu - account.looked_cpu;
  if (!runs_execs && used_cpu >= kInitsOwn) {
    account.used.wall_time +=
        std::min(duration_cast<microseconds>(now - account.looked_at), used_cpu * kBusy);
  }
  account.looked_at = now;
  account.looked_cpu = account.counted_cpu;
}

void Budgets::count_cpu(const std::string& tenant, const std::string& session,
                        const std::string& sandbox, microseconds total, Clock::time_point now) {
  const Key key{tenant, session};
  const auto is_known = accounts_.with([&](auto& accounts) {
    const auto found = accounts.find(key);
    return found == accounts.end() || found->second.counted_sandbox == sandbox;
  });
  const microseconds first = is_known ? total : last_count(key, sandbox).value_or(total);
  const auto used = accounts_.with([&](auto& accounts) -> std::optional<Usage> {
    const auto found = accounts.find(key);
    if (found == accounts.end()) return std::nullopt;
    Account& account = found->second;
    const bool is_new = account.counted_sandbox != sandbox;
    if (is_new) account.counted_cpu = first;
    account.counted_sandbox = sandbox;
    const microseconds grown = total - account.counted_cpu;
    account.used.cpu_time += std::max(grown, microseconds(0));
    account.counted_cpu = std::max(account.counted_cpu, total);
    if (is_new) {
      account.looked_at = now;
      account.looked_cpu = account.counted_cpu;
    } else {
      count_background(account, now);
    }
    if (grown.count() <= 0 && !is_new) return std::nullopt;
    Usage all = account.used;
    all.execs += account.reserved.execs;
    return all;
  });
  if (!used) return;
  // If it cannot be written, it counts as long as this process lives.
  (void)save(key, *used);
  (void)database_.run(
      "INSERT INTO session_clocks(tenant, name, sandbox, counted_us) VALUES(?,?,?,?) ON "
      "CONFLICT(tenant, name) DO UPDATE SET sandbox=excluded.sandbox, "
      "counted_us=excluded.counted_us",
      {tenant, session, sandbox, total.count()});
}

std::string Budgets::why_over(const std::string& tenant, const std::string& session) {
  return accounts_.with([&](auto& accounts) -> std::string {
    const auto found = accounts.find({tenant, session});
    if (found == accounts.end()) return {};
    const Account& account = found->second;
    const auto is_over = [](const auto& budget, const auto& used) {
      return budget.count() > 0 && used >= budget;
    };
    if (is_over(account.budget.cpu_time, account.used.cpu_time)) {
      return fmt::format("session {} has used its budget of CPU time ({} ms)", session,
                         account.budget.cpu_time.count());
    }
    if (is_over(account.budget.wall_time, account.used.wall_time)) {
      return fmt::format("session {} has used its budget of wall time ({} ms)", session,
                         account.budget.wall_time.count());
    }
    return {};
  });
}

Result<> Budgets::save(const Key& key, const Usage& used) {
  // Two saves may come in either order, so usage never decreases.
  TRY(database_.run(
      "UPDATE sessions SET execs=CASE WHEN execs>?1 THEN execs ELSE ?1 END, "
      "cpu_us=CASE WHEN cpu_us>?2 THEN cpu_us ELSE ?2 END, "
      "wall_us=CASE WHEN wall_us>?3 THEN wall_us ELSE ?3 END, "
      "output_bytes=CASE WHEN output_bytes>?4 THEN output_bytes ELSE ?4 END "
      "WHERE tenant=?5 AND name=?6",
      {static_cast<std::int64_t>(used.execs), used.cpu_time.count(), used.wall_time.count(),
       static_cast<std::int64_t>(used.output_bytes), key.first, key.second}));
  return {};
}

}  // namespace nutshell::service
