// Where a copy goes: the rules of cp, the same in both directions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "wire/schema.h"

namespace nutshell {

// Directories inside one another. A walk lists one level more than it enters, so that a tree that
// is deeper is noticed.
inline constexpr std::size_t kMostCopyDepth = 255;

enum class Standing { Nothing, Directory, Other };  // at the target, links followed
enum class Place { Inside, AsNamed };

Result<Place> choose_place(wire::FileKind source, Standing standing, const std::string& target);

// "a" for "x/a" and "x/a/"; empty for what names no entry of its own: "/", "x/.", "x/..".
std::string last_name(std::string_view path);

// The directory that holds the entry, and the entry's name. An error where last_name() is empty.
Result<std::pair<std::string, std::string>> split_target(const std::string& target);

// Each component is a plain name, and there are not too many: the path, which a sandbox named,
// leads nowhere but below the directory it is opened in.
Result<> check_path_below(std::string_view path);

Failure no_parent(const std::string& parent, const std::string& target);

}  // namespace nutshell
