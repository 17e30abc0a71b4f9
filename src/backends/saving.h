// Whether a backend saves the changes of a workspace however the sandbox ends. With the others only
// a living init can be asked for them.
#pragma once

#include <string_view>

namespace nutshell {

bool saves_changes_at_end(std::string_view backend);

}  // namespace nutshell
