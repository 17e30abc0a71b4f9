// Runs other programs to compare with, if they are installed.
#pragma once

#include <array>
#include <cstdio>
#include <memory>
#include <string>

namespace nutshell::init::search {

struct CommandResult {
  int status = -1;
  std::string output;
};

// Runs by a shell: only for texts that a test wrote itself.
inline CommandResult run_command(const std::string& script) {
  CommandResult result;
  std::FILE* pipe = ::popen(script.c_str(), "r");  // NOLINT(cert-env33-c): a test's own words
  if (pipe == nullptr) return result;
  std::array<char, 4096> chunk{};
  for (std::size_t count = 0; (count = std::fread(chunk.data(), 1, chunk.size(), pipe)) > 0;)
    result.output.append(chunk.data(), count);
  result.status = ::pclose(pipe);
  return result;
}

inline bool has_command(const std::string& name) {
  return run_command("command -v " + name).status == 0;
}

}  // namespace nutshell::init::search
