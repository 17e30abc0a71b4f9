// The operator's quotas and lists, with defaults that follow from the machine.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "daemon/config.h"
#include "service/tenants/tenant_rules.h"

namespace nutshell::daemon {

// `state` is the state directory, whose disk is counted.
service::TenantRules tenant_rules(const Config& config, const std::filesystem::path& state);

// The default of a setting "quota.NAME"; empty for other settings.
std::string default_quota_text(const Config& config, const std::filesystem::path& state,
                               std::string_view key);

}  // namespace nutshell::daemon
