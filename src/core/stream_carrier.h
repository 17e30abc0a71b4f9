// Implemented by a backend whose connections to init pass through another process, such as a
// container engine.
#pragma once

namespace nutshell {

class StreamCarrier {
 public:
  virtual ~StreamCarrier() = default;
  // Whether that process does not answer. Takes a second at most.
  virtual bool is_silent() = 0;
};

}  // namespace nutshell
