// The words for kinds of files and changes, in JSON, tables and messages.
#pragma once

#include <string_view>

#include "wire/tool_schema.h"

namespace nutshell::wire {

std::string_view to_string(FileKind kind);
std::string_view to_string(ChangeKind kind);

}  // namespace nutshell::wire
