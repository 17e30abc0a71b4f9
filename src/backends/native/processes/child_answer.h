// The answer of a child process to its parent when its work is done: a text, or the error.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace nutshell::native {

std::string encode_answer(const Result<std::string>& result);
inline std::string encode_answer(const Result<>& result) {
  return encode_answer(result ? Result<std::string>("") : Failure(result.error()));
}

// Internal if the answer is empty, as it is when the child has died.
Result<std::string> decode_answer(std::string_view answer);

}  // namespace nutshell::native
