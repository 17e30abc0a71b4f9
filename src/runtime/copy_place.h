// Finds where a copy goes, by the rules of cp, in both directions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "wire/schema.h"

namespace nutshell {

// The deepest nesting of directories. A walk lists one level more than it enters, so that a deeper
// tree is noticed.
inline constexpr std::size_t kMostCopyDepth = 255;

enum class TargetKind { Nothing, Directory, Other };  // at the target, links followed
enum class Place { Inside, AsNamed };

Result<Place> choose_place(wire::FileKind source, TargetKind target_kind,
                           const std::string& target);

// "a" for "x/a" and "x/a/"; empty for a path without a last name: "/", "x/.", "x/..".
std::string last_name(std::string_view path);

// The directory that holds the entry, and the entry's name. An error if last_name() is empty.
Result<std::pair<std::string, std::string>> split_target(const std::string& target);

// Checks a path that a sandbox named: plain components, and not too many, so that it cannot lead
// out of the directory it is opened in.
Result<> check_path_below(std::string_view path);

Failure no_parent(const std::string& parent, const std::string& target);

}  // namespace nutshell
