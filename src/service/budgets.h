// What sessions may use, counted exactly however many of their execs run at once: what an exec
// could use is set aside before it starts, and what it did not use comes back. Thread-safe.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "base/guarded.h"
#include "core/exec.h"
#include "service/database.h"
#include "service/session_view.h"

namespace nutshell::service {

class Budgets {
 public:
  explicit Budgets(Database& database) : database_(database) {}

  void define(const std::string& tenant, const std::string& session, const Budget& budget,
              const Usage& usage);
  void forget(const std::string& tenant, const std::string& session);
  Usage usage(const std::string& tenant, const std::string& session);

  struct Reservation {
    std::string tenant;
    std::string session;  // empty: nothing to settle
    Usage amount;
  };
  // Narrows the limits to what is left, or refuses. It is in the state file before it starts.
  Result<Reservation> reserve(const std::string& tenant, const std::string& session,
                              ExecLimits& limits);
  void settle(const Reservation& reservation, const Usage& used);

 private:
  using Key = std::pair<std::string, std::string>;
  struct Account {
    Budget budget;
    Usage used;
    Usage reserved;
  };
  static Result<Usage> set_aside(const std::string& session, Account& account, ExecLimits& limits);
  Result<> save(const Key& key, const Usage& used);

  Database& database_;
  Guarded<std::map<Key, Account>> accounts_;
};

Usage usage_of(const ExecResult& result);

}  // namespace nutshell::service
