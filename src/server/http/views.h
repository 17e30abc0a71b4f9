// What the service gives, as JSON.
#pragma once

#include <string_view>

#include "core/json_form.h"
#include "runtime/workspace.h"
#include "server/http/json.h"
#include "service/model/batch_view.h"
#include "service/model/exec_view.h"
#include "wire/tool_schema.h"

namespace nutshell::server {

using nutshell::to_json;

Json to_json(const service::ExecState& state);
Json to_json(const service::HistoryEntry& entry);
Json to_json(const wire::FileInfo& info);
Json to_json(const wire::FileChange& change);
Json to_json(const JudgedChange& one);
// Adds held_by, held_tool and held_why where a host would run or trust it.
void add_verdict(Json& object, const TrustVerdict& verdict);
Json to_json(const service::Trace& trace);

// With what the command wrote.
Json to_json(const ExecResult& result, std::string_view output, std::string_view error);

// Of one item of a batch: how it ended, or why it could not begin.
Json to_json(const service::BatchResult& result, std::size_t index);

}  // namespace nutshell::server
