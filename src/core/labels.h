// Labels of ours on sandboxes. Their names are reserved: no user can set one.
#pragma once

namespace nutshell {

// When a sandbox with a workspace began, in nanoseconds on the clock that files have.
inline constexpr const char* kBeganLabel = "nutshell.began";

}  // namespace nutshell
