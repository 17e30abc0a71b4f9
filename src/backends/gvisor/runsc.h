// Finds gVisor's program runsc, checks its version and runs it with deadlines. Uses posix_spawn,
// because the caller may have threads.
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
  // Takes NUTSHELL_RUNSC, or the first runsc in PATH. Unsupported if there is none, or if it is too
  // old for the system calls of current programs.
  static Result<Runsc> find();

  [[nodiscard]] const std::string& version() const { return version_; }  // "20240729"
  [[nodiscard]] const std::string& program() const { return program_; }

  struct Streams {
    int input = -1;  // -1 in each: /dev/null
    int output = -1;
    int error = -1;
  };
  // The process gets a session of its own, so that Ctrl-C at our terminal does not reach it.
  [[nodiscard]] Result<ChildProcess> spawn(const std::vector<std::string>& arguments,
                                           const Streams& streams) const;
  // Waits until the process ends, or kills it at the deadline. Its standard error becomes the
  // error.
  Result<> run(const std::vector<std::string>& arguments, Streams streams,
               const Deadline& deadline) const;
  // The same; returns its standard output, as much as a pipe holds.
  [[nodiscard]] Result<std::string> ask(const std::vector<std::string>& arguments,
                                        const Deadline& deadline) const;

 private:
  Runsc(std::string program, std::string version)
      : program_(std::move(program)), version_(std::move(version)) {}

  std::string program_;
  std::string version_;
};

// The date, as eight digits, in the output of "runsc --version"; empty if there is none.
std::string day_of_version(std::string_view text);

}  // namespace nutshell::gvisor
