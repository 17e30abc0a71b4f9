// Where spans go, when the configuration names a collector.
#pragma once

#include <memory>

#include "daemon/config.h"
#include "service/model/metrics_view.h"
#include "telemetry/exporter.h"

namespace nutshell::daemon {

// Nothing: it names none.
Result<std::unique_ptr<telemetry::Exporter>> open_exporter(const Config& config);

// How many spans went where; empty without an exporter.
service::MetricsSnapshot metrics_of(const telemetry::Exporter* exporter);

}  // namespace nutshell::daemon
