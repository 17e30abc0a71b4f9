// Searches the contents of files: exact totals, one page of lines.
#pragma once

#include <optional>
#include <variant>

#include "init/search/place.h"
#include "wire/tool_schema.h"

namespace nutshell::init::search {

using SearchReply = std::variant<wire::SearchPage, wire::Refused>;

// Uses `threads` threads, which have ended when it returns. Paths are relative to the place, and
// empty for a place that is a file.
SearchReply search_files(const Place& place, wire::Search request, unsigned threads);

// Searches for plain text in few and short files, faster than a worker process would start. Returns
// nullopt if there turns out to be more: it gives up before it blocks its caller for long.
std::optional<SearchReply> search_few_files(const Place& place, wire::Search request);

}  // namespace nutshell::init::search
