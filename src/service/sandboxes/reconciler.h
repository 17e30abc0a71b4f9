// Compares the sandboxes that the service knows with those that backends have: at the start of the
// service, and every few seconds. Thread-safe for different backends.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/guarded.h"
#include "runtime/runtime.h"
#include "service/sandboxes/sandbox_store.h"
#include "service/sandboxes/sandbox_table.h"
#include "service/sandboxes/sandboxes.h"
#include "service/tenants/service_options.h"

namespace nutshell::service {

class Reconciler {
 public:
  struct Dependencies {
    Runtime& runtime;
    Database& database;
    SandboxTable& table;
    Sandboxes& sandboxes;
    const ServiceOptions& options;
    const CurrentRules& rules;
  };
  Reconciler(const Dependencies& uses, Sandboxes::OnEnd on_end)
      : uses_(uses), store_(uses.database), on_end_(std::move(on_end)) {}

  // At the start: adopts sandboxes that run and undoes what was half done. Returns a line for each
  // thing that was found. A backend that does not answer is waited for no longer than its own
  // deadlines; its sandboxes stay in the state file, and are settled once it answers.
  Result<std::vector<std::string>> adopt();
  // The backends that have not answered, each with the reason.
  std::map<std::string, std::string> unanswered();
  // Lets sandboxes of this backend go that it does not have any more, and adopts those that were
  // made without the service.
  void reconcile(const std::string& backend);

 private:
  struct Unanswered {
    std::string why;
    std::vector<SandboxRow> rows;  // of the start; sandboxes made since then have none here
  };
  using Lines = std::vector<std::string>;
  Result<Lines> settle(std::vector<SandboxRow> rows, const std::vector<SandboxStatus>& statuses);
  Result<Lines> settle_unknown(const std::vector<SandboxStatus>& statuses,
                               const std::set<std::string>& known);
  void keep_unseen(const std::string& backend, const Error& why, std::vector<SandboxRow> rows);
  void settle_late(const std::string& backend, const std::vector<SandboxStatus>& statuses);
  void adopt_row(const SandboxRow& row, const SandboxStatus& status);
  Result<std::string> settle_row(const SandboxRow& row, const SandboxStatus* status);
  // Whether another service made it, with another state directory.
  [[nodiscard]] bool is_of_another(const SandboxStatus& status) const;
  void adopt_foreign(const SandboxStatus& status);
  Result<bool> is_same_boot();
  SandboxEntry entry_of(const SandboxStatus& status);

  Dependencies uses_;
  SandboxStore store_;
  Guarded<std::map<std::string, Unanswered>> unanswered_;
  Sandboxes::OnEnd on_end_;
};

}  // namespace nutshell::service
