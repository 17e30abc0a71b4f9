// The metadata of many entries of one directory. The kernel is asked for one after the other, which
// is nearly all the time a listing takes: two threads share the work where there is enough of it.
#pragma once

#include <span>
#include <vector>

#include "wire/schema.h"

namespace nutshell::init::search {

// As describe_entry() of each name, in their order. The names lie in one buffer, as the kernel
// wrote them there, and it is asked in that order: what it made one after the other it finds faster
// so.
std::vector<wire::FileInfo> describe_entries(int directory, std::span<const char* const> names);

}  // namespace nutshell::init::search
