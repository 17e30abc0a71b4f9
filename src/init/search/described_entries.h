// Reads the metadata of many entries of one directory. One stat() after the other is nearly all the
// time that a listing takes: two threads share the work if there is enough of it.
#pragma once

#include <span>
#include <vector>

#include "wire/schema.h"

namespace nutshell::init::search {

// Calls describe_entry() for each name; the results have the order of the names. The names lie in
// one buffer, as the kernel wrote them there, and are looked up in that order: the kernel finds
// entries faster in the order of their creation.
std::vector<wire::FileInfo> describe_entries(int directory, std::span<const char* const> names);

}  // namespace nutshell::init::search
