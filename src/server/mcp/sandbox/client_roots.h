// The directories that a client works in, for a server that was started outside any project.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nutshell::mcp {

// The path of a file URI of this machine, decoded; nullopt for any other URI.
std::optional<std::string> path_of_file_uri(std::string_view uri);

// The local directories in the result of roots/list, which the client wrote.
std::vector<std::string> directories_in(std::string_view roots);

}  // namespace nutshell::mcp
