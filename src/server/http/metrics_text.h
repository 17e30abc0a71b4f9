// Figures in Prometheus' text format, version 0.0.4.
#pragma once

#include <string>

#include "service/model/metrics_view.h"

namespace nutshell::server {

std::string metrics_text(const service::MetricsSnapshot& metrics);

}  // namespace nutshell::server
