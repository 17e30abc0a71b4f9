// Searches the contents of files: exact totals, one page of lines.
#pragma once

#include <optional>
#include <variant>

#include "init/search/place.h"
#include "wire/tool_schema.h"

namespace nutshell::init::search {

using SearchReply = std::variant<wire::SearchPage, wire::Refused>;

// Uses `threads` threads, which are gone when it returns. Paths are relative to the place, and
// empty for a place that is a file.
SearchReply search_files(const Place& place, wire::Search request, unsigned threads);

// Plain text in few and short files, which takes less than a process for it would. Nothing where it
// turns out to be more: it gives up before its caller misses other work.
std::optional<SearchReply> search_few_files(const Place& place, wire::Search request);

}  // namespace nutshell::init::search
