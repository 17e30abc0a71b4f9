// Tells in one line what the network policy refused to a command.
#pragma once

#include <string>

#include "core/exec.h"

namespace nutshell {

// "2 connections refused: example.org:443 is not allowed; allowed are pypi, crates"; empty if
// nothing was refused. The text comes from a sandbox: escape it before you show it.
std::string refused_text(const ExecResult& result);

}  // namespace nutshell
