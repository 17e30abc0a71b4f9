#include "backends/native/processes/child_answer.h"

namespace nutshell::native {
namespace {

constexpr char kDone = '+';
static_assert(static_cast<int>(ErrorCode::Internal) < kDone);

}  // namespace

std::string encode_answer(const Result<std::string>& result) {
  if (result) return kDone + *result;
  return static_cast<char>(result.error().code) + result.error().message;
}

Result<std::string> decode_answer(std::string_view answer) {
  if (answer.empty()) return failure(ErrorCode::Internal, "its process died before it was done");
  const std::string text(answer.substr(1));
  if (answer[0] == kDone) return text;
  return failure(static_cast<ErrorCode>(answer[0]), text);
}

}  // namespace nutshell::native
