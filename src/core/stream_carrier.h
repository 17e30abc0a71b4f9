// Implemented by a backend whose connections to init pass through another process, such as a
// container engine.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace nutshell {

// How the bytes of a stream to init travel.
enum class StreamForm : std::uint8_t {
  Direct,   // over a socket of init's own, so that descriptors pass, too
  Carried,  // through another process
};

// A stream that needs nothing of the process that opened it.
struct LastingStream {
  UniqueFd descriptor;
  StreamForm form = StreamForm::Direct;
};

class StreamCarrier {
 public:
  virtual ~StreamCarrier() = default;
  // Whether that process does not answer. Takes a second at most.
  virtual bool is_silent() = 0;
  // Connects to init for another program, which may outlive the caller. Closing the stream does not
  // end the sandbox. Unsupported if such streams need the caller.
  virtual Result<LastingStream> connect_for_program(const std::string& id) = 0;
};

}  // namespace nutshell
