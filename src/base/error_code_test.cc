#include "base/error_code.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace nutshell {
namespace {

// Every code with its word, HTTP status, gRPC status and JSON-RPC code. Clients are written against
// these: a row may be added here, and none changed.
struct Row {
  ErrorCode code;
  std::string_view word;
  int http;
  int grpc;
  int json_rpc;
};
constexpr Row kContract[] = {
    {ErrorCode::InvalidArgument, "invalid_argument", 400, 3, -32602},
    {ErrorCode::NotFound, "not_found", 404, 5, -32002},
    {ErrorCode::AlreadyExists, "already_exists", 409, 6, -32603},
    {ErrorCode::PermissionDenied, "permission_denied", 403, 7, -32603},
    {ErrorCode::Unsupported, "unsupported", 422, 9, -32603},
    {ErrorCode::ResourceExhausted, "resource_exhausted", 429, 8, -32603},
    {ErrorCode::DeadlineExceeded, "deadline_exceeded", 504, 4, -32603},
    {ErrorCode::Cancelled, "cancelled", 409, 1, -32603},
    {ErrorCode::Unavailable, "unavailable", 503, 14, -32603},
    {ErrorCode::Corrupt, "corrupt", 502, 15, -32603},
    {ErrorCode::Internal, "internal", 500, 13, -32603},
    {ErrorCode::Unauthenticated, "unauthenticated", 401, 16, -32603},
    {ErrorCode::Conflict, "conflict", 409, 9, -32603},
    {ErrorCode::Stale, "stale", 412, 10, -32603},
    {ErrorCode::Expired, "expired", 410, 5, -32002},
    {ErrorCode::TooLarge, "too_large", 413, 8, -32603},
    {ErrorCode::NotUnique, "not_unique", 409, 9, -32602},
    {ErrorCode::Binary, "binary", 415, 9, -32603},
    {ErrorCode::IsDirectory, "is_directory", 400, 9, -32602},
    {ErrorCode::OutsideRoot, "outside_root", 403, 7, -32603},
    {ErrorCode::LazyPlaceholder, "lazy_placeholder", 400, 3, -32602},
};

TEST(ErrorCode, HasOneRowInEveryForm) {
  ASSERT_EQ(std::size(kContract), kErrorCodes);
  std::uint8_t number = 0;
  for (const Row& row : kContract) {
    EXPECT_EQ(static_cast<std::uint8_t>(row.code), number++) << row.word;
    const ErrorCodeForms& forms = forms_of(row.code);
    EXPECT_EQ(forms.word, row.word);
    EXPECT_EQ(forms.http_status, row.http) << row.word;
    EXPECT_EQ(forms.grpc_status, row.grpc) << row.word;
    EXPECT_EQ(forms.json_rpc_code, row.json_rpc) << row.word;
  }
}

TEST(ErrorCode, GoesThroughItsWordAndItsNumber) {
  std::set<std::string_view> words;
  for (const Row& row : kContract) {
    words.insert(to_string(row.code));
    EXPECT_EQ(to_error_code(to_string(row.code)), row.code);
    EXPECT_EQ(to_error_code(static_cast<std::uint8_t>(row.code)), row.code);
  }
  EXPECT_EQ(words.size(), kErrorCodes);
}

TEST(ErrorCode, IsInternalForWhatIsUnknown) {
  EXPECT_EQ(to_error_code(std::uint8_t{kErrorCodes}), ErrorCode::Internal);
  EXPECT_EQ(to_error_code(std::uint8_t{255}), ErrorCode::Internal);
  EXPECT_EQ(to_error_code(std::string_view("denied")), ErrorCode::Internal);
  EXPECT_EQ(to_error_code(std::string_view()), ErrorCode::Internal);
}

}  // namespace
}  // namespace nutshell
