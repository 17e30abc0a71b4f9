// Lists a directory, or some levels of a tree: directories first, each followed by its content.
#pragma once

#include <optional>
#include <variant>

#include "init/search/place.h"
#include "wire/tool_schema.h"

namespace nutshell::init::search {

using ListReply = std::variant<wire::Listing, wire::Refused>;

// `Small` gives up, and returns nullopt, on a listing that would block its caller for long.
enum class Effort { Small, Any };

std::optional<ListReply> list_directory(const Place& place, const wire::ListDirectory& request,
                                        Effort effort);

}  // namespace nutshell::init::search
