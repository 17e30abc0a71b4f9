// Makes `delete` overwrite memory before it is freed. Each init begins as a copy of the launcher's
// memory and must not find data of another sandbox there, above all its environment.
#pragma once

namespace nutshell::launcher {

// Called by init, whose memory holds the data of one sandbox only: wiping would cost time for
// nothing.
void stop_wiping() noexcept;

}  // namespace nutshell::launcher
