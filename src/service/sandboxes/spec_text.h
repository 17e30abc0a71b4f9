// Labels and setup outputs as text for the state file. core/json_form.h does the same for nouns.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/exec.h"
#include "core/sandbox_spec.h"
#include "service/model/session_view.h"

namespace nutshell::service {

std::string encode_labels(const std::map<std::string, std::string>& labels);
Result<std::map<std::string, std::string>> decode_labels(const std::string& text);

std::string encode_setup(const std::vector<SetupOutput>& outputs);
Result<std::vector<SetupOutput>> decode_setup(const std::string& text);

// SHA-256 of all fields of the spec, in hexadecimal.
std::string hash_of_spec(const SandboxSpec& spec);

}  // namespace nutshell::service
