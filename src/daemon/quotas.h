// The operator's quotas and lists, with what follows from the machine where nothing is set.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "daemon/config.h"
#include "service/tenants/tenant_rules.h"

namespace nutshell::daemon {

// `state` is the state directory, whose disk is counted.
service::TenantRules tenant_rules(const Config& config, const std::filesystem::path& state);

// The value of a setting "quota.NAME" that is not set; empty: it is none of these.
std::string default_quota_text(const Config& config, const std::filesystem::path& state,
                               std::string_view key);

}  // namespace nutshell::daemon
