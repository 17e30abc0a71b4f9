// Operations on one sandbox: the sandbox is looked up among those of the caller's tenant, and the
// step is recorded, counted and traced. Thread-safe.
#pragma once

#include <string>
#include <type_traits>

#include "service/evidence/operations.h"
#include "service/sandboxes/sandbox_table.h"

namespace nutshell::service {

inline Subject subject_of(const SandboxRef& ref) {
  return {ref.id, ref.session, ref.secrets};
}

class SandboxOperations {
 public:
  SandboxOperations(SandboxTable& table, Operations& operations)
      : table_(table), operations_(operations) {}

  // The argument that the record shows; none if the name is empty.
  struct Argument {
    const char* name = "";
    std::string text = {};
  };
  template <typename Step>
  auto run(const Caller& caller, const std::string& id, const char* action,
           const Argument& argument, Step step)
      -> std::invoke_result_t<Step, const SandboxRef&, Operation&> {
    const SandboxRef ref = TRY(table_.find(caller.tenant, id));
    std::string arguments;
    if (*argument.name != '\0')
      arguments = operations_.describe_text(argument.name, argument.text, ref.secrets);
    return operations_.run(caller, {action, subject_of(ref), std::move(arguments)},
                           [&](Operation& operation) { return step(ref, operation); });
  }

 private:
  SandboxTable& table_;
  Operations& operations_;
};

}  // namespace nutshell::service
