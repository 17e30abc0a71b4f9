// Turns JSON of a checked shape into requests of the service.
#pragma once

#include <chrono>

#include "core/exec.h"
#include "core/sandbox_spec.h"
#include "server/http/json.h"
#include "service/model/batch_view.h"
#include "service/model/caller.h"
#include "service/model/exec_view.h"
#include "service/model/pool_view.h"
#include "service/model/session_view.h"

namespace nutshell::server {

std::string text_of(const Json& object, const char* key, std::string_view otherwise = {});
// Reads "trace" of a request to run a command.
service::TraceLevel trace_of(const Json& object);
std::uint64_t number_of(const Json& object, const char* key, std::uint64_t otherwise);
bool is_true(const Json& object, const char* key);
std::vector<std::string> texts_of(const Json& object, const char* key);
std::map<std::string, std::string> map_of(const Json& object, const char* key);
Result<std::vector<std::string>> environment_of(const Json& object);  // NAME=VALUE
std::chrono::milliseconds time_of(const Json& object, const char* key,
                                  std::chrono::milliseconds otherwise);

Result<Limits> limits_of(const Json& object, Limits limits = {});
// Refuses host files to callers that may not name them.
Result<SandboxSpec> spec_of(const Json& object, const service::Caller& caller);
Result<ExecRequest> exec_of(const Json& object);
Result<service::SessionRequest> session_of(const Json& object, const service::Caller& caller);
// Limits that are not given keep the pool's values.
Result<service::AcquireRequest> acquire_of(const Json& object, const service::Caller& caller,
                                           const Limits& of_pool);
Result<service::BatchRequest> batch_of(const Json& object, const service::Caller& caller);

}  // namespace nutshell::server
