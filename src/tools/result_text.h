// Sentences that the results of several tools share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "core/tool.h"
#include "wire/init_client.h"
#include "wire/tool_schema.h"

namespace nutshell {

// An error as a model reads it: "not_unique: `old` matches 3 places…", why, what to do.
ToolResult refuse(ToolError error);
ToolResult refuse(const wire::Refused& refused);
ToolResult bad_argument(std::string what, std::string next = {});

template <typename Reply>
const wire::Refused* refusal_of(const wire::Answer<Reply>& answer) {
  return std::get_if<wire::Refused>(&answer);
}

// The path of an entry below a directory, for the next call.
std::string path_below(const std::string& directory, const std::string& path);

// "1 file", "3 files"
std::string count_of(std::uint64_t count, std::string_view one, std::string_view many = {});

// "v9f02, undo u12": version and undo id, if there are any.
std::string change_marks(const wire::Changed& changed);
// "changed 3 files, undo u14"; empty if nothing changed.
std::string change_sentence(const wire::Changed& changed);
// {"version": …, "changes": […]}
std::string change_fields(const wire::Changed& changed);

// A comment that stands for omitted code ("// ... rest unchanged"), and its line; 0: there is none.
struct Placeholder {
  std::size_t line = 0;
  std::string text;
};
Placeholder find_placeholder(std::string_view text);
ToolResult refuse_placeholder(std::string_view argument, const Placeholder& placeholder);

}  // namespace nutshell
