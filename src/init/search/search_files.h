// Searches the contents of files: exact totals, one page of lines.
#pragma once

#include <variant>

#include "init/search/place.h"
#include "wire/schema.h"

namespace nutshell::init::search {

// Uses `threads` threads, which are gone when it returns. Paths are relative to the place, and
// empty for a place that is a file.
std::variant<wire::SearchPage, wire::Refused> search_files(Place place, wire::Search request,
                                                           unsigned threads);

}  // namespace nutshell::init::search
