// Explains errors of a sandbox whose stream broke. The stream alone cannot tell whether the sandbox
// has ended, so its backend is asked first (Backend::why_gone).
#pragma once

#include <string>
#include <utility>

#include "base/result.h"
#include "core/backend.h"
#include "core/exec.h"
#include "runtime/runtime.h"
#include "wire/init_client.h"

namespace nutshell {

// Whether the other side, or the program that carried the stream, has closed it.
bool has_hung_up(wire::InitClient& client);

// Adds the reason: "apply a.c: the connection to the sandbox was closed: the daemon went away; …"
Error explained(Error error, const Gone& gone);
// The result of a lost exec, with the reason for the loss.
ExecResult explained(ExecResult result, const Gone& gone);

// Runtime::with_init() for steps whose errors a user reads: if the stream broke, the error says
// what is known about the sandbox.
template <typename Step>
auto with_init_explained(Runtime& runtime, const std::string& id, Step step) {
  return runtime.with_init(id, [&](wire::InitClient& client) {
    auto result = step(client);
    if (!result && has_hung_up(client))
      result.error() = explained(std::move(result).error(), runtime.why_gone(id));
    return result;
  });
}

}  // namespace nutshell
