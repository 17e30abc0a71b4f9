// The tools that people install outside /usr: where each tools keeps its programs, and which
// files of a user are never shown to a sandbox. Data only.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace nutshell {

struct ToolSource {
  std::string_view name;
  std::string_view variable;  // names the directory; empty if there is none
  std::string_view root;      // the directory otherwise; "~" is the user's home directory
  // Directories below the root that hold programs and libraries, separated by blanks; "." is the
  // root itself. A part of a path may be "*", or "*.*" for names with a dot.
  std::string_view parts;
  // Small files below the root that the programs read.
  std::string_view files;
  // Directories below the root with commands, best first. Of those that a "*" matches the newest
  // version is used.
  std::string_view commands;
  // Whether the programs need `variable`, because HOME is another one inside.
  bool exports_variable = false;
  // Other variables, separated by blanks; "@" is the root.
  std::string_view variables = {};
  // Packages that anybody can download may have any name in them.
  enum class Content : std::uint8_t { Installed, Published } content = Content::Installed;
};

std::span<const ToolSource> tool_sources();

// Variables by which package managers fail at once where there is no network; without them they try
// again for a minute.
std::span<const std::string_view> offline_variables();

// Paths below a home directory that hold keys, tokens or a history of commands. No directory that
// is one of these, holds one or lies in one is shown.
std::span<const std::string_view> private_paths();

// Names of files and directories that hold keys or tokens wherever they lie, besides names that end
// in "_history". Of a directory that has one in it, only the directories that have none are shown.
std::span<const std::string_view> private_names();

}  // namespace nutshell
