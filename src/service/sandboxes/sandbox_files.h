// Files and workspaces of sandboxes. Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "runtime/workspace.h"
#include "service/sandboxes/sandbox_operations.h"
#include "service/sandboxes/sandboxes.h"
#include "service/state/work_gate.h"
#include "wire/init_client.h"

namespace nutshell::service {

// Charged to the tenant's memory until the answer is sent.
struct ChangeList {
  std::vector<JudgedChange> changes;
  CallMemory memory;  // charged for as long as the list is held
};

class SandboxFiles {
 public:
  struct Dependencies {
    Runtime& runtime;
    SandboxTable& table;
    Sandboxes& sandboxes;
    SandboxOperations& operations;
    Accounts& accounts;
    WorkGate& gate;
  };
  explicit SandboxFiles(const Dependencies& uses) : uses_(uses) {}

  Result<wire::FileInfo> stat(const Caller& caller, const std::string& id, const std::string& path);
  Result<> read(const Caller& caller, const std::string& id, const wire::ReadFile& request,
                const wire::InitClient::Sink& sink);
  Result<> write(const Caller& caller, const std::string& id, const wire::WriteFile& request,
                 const wire::InitClient::Source& source);
  Result<> walk(const Caller& caller, const std::string& id, const std::string& path,
                const wire::InitClient::Visitor& visit);
  // Tells for each entry of the directory whether a host would run or trust it.
  Result<std::vector<TrustVerdict>> judge_entries(const Caller& caller, const std::string& id,
                                                  const std::string& directory,
                                                  const std::vector<wire::FileInfo>& entries);
  Result<> make_directory(const Caller& caller, const std::string& id,
                          const wire::MakeDirectory& request);
  Result<> remove(const Caller& caller, const std::string& id, const wire::Remove& request);

  // Changes of the workspace in the order of their paths, with what `apply` would hold back.
  Result<ChangeList> changes(const Caller& caller, const std::string& id);
  // Only for a caller that may use host files.
  Result<ApplyReport> apply(const Caller& caller, const std::string& id,
                            const ApplyOptions& options);
  Result<std::string> checkpoint(const Caller& caller, const std::string& id, Running running);
  Result<> rollback(const Caller& caller, const std::string& id, const std::string& checkpoint,
                    Running running);

 private:
  // Runs `step` with a connection to the sandbox's init, which is kept for the next call if all
  // went well. The sandbox is awake and counts as used meanwhile.
  template <typename Step>
  auto with_init(const SandboxRef& ref, const Step& step)
      -> decltype(step(std::declval<wire::InitClient&>())) {
    const auto used = uses_.table.use(ref.id);
    TRY(uses_.sandboxes.wake(ref.id));
    return uses_.runtime.with_init(ref.id, step);
  }

  Dependencies uses_;
};

}  // namespace nutshell::service
