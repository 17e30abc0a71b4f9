// Sandbox ids: one letter that names the backend, then twelve hexadecimal digits ("n3f9c0a11b2d4").
// Because of the letter, whoever has an id asks the one backend that can have the sandbox, and no
// other. An id is safe in paths, and in names of containers and cgroups.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace nutshell {

inline constexpr std::size_t kSandboxIdLength = 13;

std::string new_sandbox_id(char backend_letter);
bool is_sandbox_id(std::string_view text);
// Whether `text` is an id or the beginning of one, at least three characters of it.
bool is_sandbox_id_beginning(std::string_view text);

}  // namespace nutshell
