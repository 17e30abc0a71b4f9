// A part of the gate that sees the answer to one request before the sandbox does, and may change
// it. Used by one thread.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "http/message.h"

namespace nutshell::egress {

class AnswerFilter {
 public:
  virtual ~AnswerFilter() = default;

  // May change header fields and the reason. An error is what the sandbox gets instead.
  virtual Result<> take_head(http::ResponseHead& head, std::string& reason) = 0;
  // Whether the client gets another answer in the place of this one, which is dropped. Asked after
  // take_head().
  [[nodiscard]] virtual bool takes_over() const { return false; }
  // Whether the body's length may change. Asked after take_head().
  [[nodiscard]] virtual bool changes_length() const = 0;
  // Returns the bytes to pass on for these.
  virtual std::string take_part(std::string_view bytes) = 0;
  // The whole body has come. Returns the bytes that are left to pass on.
  virtual std::string take_end() = 0;
};

}  // namespace nutshell::egress
