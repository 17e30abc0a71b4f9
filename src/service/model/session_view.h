// Sessions as a caller of the service sees them.
#pragma once

#include <string>
#include <vector>

#include "core/session.h"

namespace nutshell::service {

using nutshell::Budget;
using nutshell::SessionRequest;
using nutshell::SetupOutput;
using nutshell::Usage;
using SessionView = nutshell::Session;

struct SessionPage {
  std::vector<SessionView> sessions;
  std::string next_cursor;
};

}  // namespace nutshell::service
