// Finds entries of a tree by their names: exact totals, and one page, the newest first.
#pragma once

#include <variant>

#include "init/search/place.h"
#include "wire/tool_schema.h"

namespace nutshell::init::search {

// Uses `threads` threads, which have ended when it returns. Paths are relative to the place.
std::variant<wire::FindPage, wire::Refused> find_files(Place place, const wire::FindFiles& request,
                                                       unsigned threads);

}  // namespace nutshell::init::search
