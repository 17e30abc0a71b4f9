// Sends spans to the collector that the configuration names.
#pragma once

#include <memory>

#include "daemon/config.h"
#include "service/model/metrics_view.h"
#include "telemetry/exporter.h"

namespace nutshell::daemon {

// Null if it names none.
Result<std::unique_ptr<telemetry::Exporter>> open_exporter(const Config& config);

// Counts of sent and dropped spans; empty without an exporter.
service::MetricsSnapshot metrics_of(const telemetry::Exporter* exporter);

}  // namespace nutshell::daemon
