#include "backends/native/processes/child_answer.h"

namespace nutshell::native {
namespace {

constexpr char kDone = '+';  // no number of an error code
static_assert(kErrorCodes <= kDone);

}  // namespace

std::string encode_answer(const Result<std::string>& result) {
  if (result) return kDone + *result;
  return static_cast<char>(result.error().code) + result.error().message;
}

Result<std::string> decode_answer(std::string_view answer) {
  if (answer.empty()) return failure(ErrorCode::Internal, "its process died before it was done");
  const std::string text(answer.substr(1));
  if (answer[0] == kDone) return text;
  return failure(to_error_code(static_cast<std::uint8_t>(answer[0])), text);
}

}  // namespace nutshell::native
