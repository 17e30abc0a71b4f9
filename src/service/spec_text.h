// Requests as text, for the state file.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/exec.h"
#include "core/sandbox_spec.h"
#include "service/session_view.h"

namespace nutshell::service {

std::string encode_labels(const std::map<std::string, std::string>& labels);
Result<std::map<std::string, std::string>> decode_labels(const std::string& text);

// The whole request, environments too: a session is made again from it.
std::string encode_session(const SessionRequest& request);
Result<SessionRequest> decode_session(const std::string& text);

std::string encode_setup(const std::vector<SetupOutput>& outputs);
Result<std::vector<SetupOutput>> decode_setup(const std::string& text);

std::string encode_result(const ExecResult& result);
Result<ExecResult> decode_result(const std::string& text);

std::string encode_limits(const ExecLimits& limits);
Result<ExecLimits> decode_limits(const std::string& text);

// Two requests are the same one if these texts are equal.
std::string encode_spec(const SandboxSpec& spec);
std::string encode_exec(const ExecRequest& request);
// SHA-256 of encode_spec(), in hexadecimal.
std::string hash_of_spec(const SandboxSpec& spec);

}  // namespace nutshell::service
