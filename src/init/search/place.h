// Opens the directory or regular file of a request; the error says why it cannot.
#pragma once

#include <string>
#include <variant>

#include "base/unique_fd.h"
#include "wire/tool_schema.h"

namespace nutshell::init::search {

struct Place {
  UniqueFd fd;
  bool is_directory = false;
};

// An empty path is the working directory itself. Links are followed: the caller named this place.
std::variant<Place, wire::Refused> open_place(const std::string& path,
                                              const std::string& working_directory);

}  // namespace nutshell::init::search
