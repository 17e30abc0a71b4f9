#include "service/tenants/charged_call.h"

namespace nutshell::service {
namespace {

// A page of a file or of a listing, the messages that bring it, and the answer.
constexpr std::uint64_t kEveryCall = 1U << 20U;

}  // namespace

Result<CallMemory> memory_for_call(Accounts& accounts, const std::string& tenant) {
  Charge charge = TRY(accounts.take(tenant, Resource::OutputMemory, kEveryCall));
  return CallMemory(std::move(charge), [&accounts, tenant] {
    return accounts.refusal(tenant, Resource::OutputMemory);
  });
}

}  // namespace nutshell::service
