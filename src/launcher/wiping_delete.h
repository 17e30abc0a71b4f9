// What the launcher frees, it wipes: each init begins as a copy of its memory, and must not find
// there what another sandbox was told, its environment above all.
#pragma once

namespace nutshell::launcher {

// For an init, which has the memory of one sandbox only: the contents of its files are not worth
// it.
void stop_wiping() noexcept;

}  // namespace nutshell::launcher
