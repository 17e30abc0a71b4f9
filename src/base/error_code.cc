#include "base/error_code.h"

#include <array>

namespace nutshell {
namespace {

constexpr int kInvalidParams = -32602;
constexpr int kInternalError = -32603;
constexpr int kResourceNotFound = -32002;

// In the order of the enumerators.
constexpr std::array<ErrorCodeForms, kErrorCodes> kForms = {{
    {"invalid_argument", 400, 3, kInvalidParams},  {"not_found", 404, 5, kResourceNotFound},
    {"already_exists", 409, 6, kInternalError},    {"permission_denied", 403, 7, kInternalError},
    {"unsupported", 422, 9, kInternalError},       {"resource_exhausted", 429, 8, kInternalError},
    {"deadline_exceeded", 504, 4, kInternalError}, {"cancelled", 409, 1, kInternalError},
    {"unavailable", 503, 14, kInternalError},      {"corrupt", 502, 15, kInternalError},
    {"internal", 500, 13, kInternalError},         {"unauthenticated", 401, 16, kInternalError},
    {"conflict", 409, 9, kInternalError},          {"stale", 412, 10, kInternalError},
    {"expired", 410, 5, kResourceNotFound},        {"too_large", 413, 8, kInternalError},
    {"not_unique", 409, 9, kInvalidParams},        {"binary", 415, 9, kInternalError},
    {"is_directory", 400, 9, kInvalidParams},      {"outside_root", 403, 7, kInternalError},
    {"lazy_placeholder", 400, 3, kInvalidParams},
}};

}  // namespace

const ErrorCodeForms& forms_of(ErrorCode code) {
  return kForms.at(static_cast<std::size_t>(code));
}

std::string_view to_string(ErrorCode code) {
  return forms_of(code).word;
}

ErrorCode to_error_code(std::uint8_t number) {
  return number < kErrorCodes ? static_cast<ErrorCode>(number) : ErrorCode::Internal;
}

ErrorCode to_error_code(std::string_view word) {
  for (std::size_t number = 0; number < kErrorCodes; ++number)
    if (kForms.at(number).word == word) return static_cast<ErrorCode>(number);
  return ErrorCode::Internal;
}

}  // namespace nutshell
