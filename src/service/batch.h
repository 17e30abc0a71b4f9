// Runs many commands at once, each in a sandbox of its own.
#pragma once

#include <vector>

#include "service/model/batch_view.h"
#include "service/service.h"

namespace nutshell::service {

Result<std::vector<BatchResult>> run_batch(Service& service, const Caller& caller,
                                           const BatchRequest& request,
                                           const BatchProgress& progress);

}  // namespace nutshell::service
