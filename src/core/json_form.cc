#include "core/json_form.h"

#include "core/audit_entry.h"
#include "core/exec.h"
#include "core/json_form.inc"
#include "core/network_report.h"
#include "core/pool.h"
#include "core/sandbox_stats.h"
#include "core/sandbox_status.h"
#include "core/session.h"

namespace nutshell {

// NOLINTBEGIN(bugprone-macro-parentheses): T is a type
#define NUTSHELL_JSON_FORM(T)                                                 \
  template nlohmann::ordered_json to_json<T>(const T&, Written);              \
  template nlohmann::ordered_json to_json<T>(const std::vector<T>&, Written); \
  template std::string to_json_text<T>(const T&, Written);                    \
  template Result<> read_json<T>(const nlohmann::ordered_json&, T&);          \
  template Result<T> from_json_text<T>(std::string_view);
// NOLINTEND(bugprone-macro-parentheses)

NUTSHELL_JSON_FORM(Limits)
NUTSHELL_JSON_FORM(ExecLimits)
NUTSHELL_JSON_FORM(UnsafeMount)
NUTSHELL_JSON_FORM(Mount)
NUTSHELL_JSON_FORM(NetworkSecret)
NUTSHELL_JSON_FORM(NetworkPolicy)
NUTSHELL_JSON_FORM(NetworkEvent)
NUTSHELL_JSON_FORM(NetworkStatus)
NUTSHELL_JSON_FORM(SandboxSpec)
NUTSHELL_JSON_FORM(Protection)
NUTSHELL_JSON_FORM(SandboxStatus)
NUTSHELL_JSON_FORM(SandboxStats)
NUTSHELL_JSON_FORM(WindowSize)
NUTSHELL_JSON_FORM(ExecRequest)
NUTSHELL_JSON_FORM(ExecResult)
NUTSHELL_JSON_FORM(Budget)
NUTSHELL_JSON_FORM(Usage)
NUTSHELL_JSON_FORM(SessionRequest)
NUTSHELL_JSON_FORM(SetupOutput)
NUTSHELL_JSON_FORM(Session)
NUTSHELL_JSON_FORM(PoolSpec)
NUTSHELL_JSON_FORM(PoolStatus)
NUTSHELL_JSON_FORM(AuditEntry)
NUTSHELL_JSON_FORM(AuditRecord)

}  // namespace nutshell
