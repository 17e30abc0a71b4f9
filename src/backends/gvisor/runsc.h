// The program runsc, which is gVisor: found, asked for its version, and run with a deadline. It is
// spawned, never forked: whoever calls may have threads.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/child_process.h"
#include "base/deadline.h"
#include "base/result.h"

namespace nutshell::gvisor {

class Runsc {
 public:
  // NUTSHELL_RUNSC, or the first in PATH. Unsupported where there is none, or one too old to know
  // the calls that today's programs make.
  static Result<Runsc> find();

  [[nodiscard]] const std::string& version() const { return version_; }  // "20240729"
  [[nodiscard]] const std::string& program() const { return program_; }

  struct Streams {
    int input = -1;   // -1: none
    int output = -1;  // -1: nobody reads it
    int error = -1;
  };
  // In a session of its own: a Ctrl-C at our terminal is not meant for it.
  [[nodiscard]] Result<ChildProcess> spawn(const std::vector<std::string>& arguments,
                                           const Streams& streams) const;
  // Until it ends, or is killed at the deadline. What it says about a failure is the error.
  Result<> run(const std::vector<std::string>& arguments, Streams streams,
               const Deadline& deadline) const;
  // The same, for what it prints: as much as a pipe holds.
  [[nodiscard]] Result<std::string> ask(const std::vector<std::string>& arguments,
                                        const Deadline& deadline) const;

 private:
  Runsc(std::string program, std::string version)
      : program_(std::move(program)), version_(std::move(version)) {}

  std::string program_;
  std::string version_;
};

// The eight digits of a day in what "runsc --version" prints; empty: none.
std::string day_of_version(std::string_view text);

}  // namespace nutshell::gvisor
