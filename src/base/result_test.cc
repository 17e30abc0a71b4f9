#include "base/result.h"

#include <gtest/gtest.h>

#include <memory>

namespace nutshell {
namespace {

Result<int> half(int number) {
  if (number % 2 != 0) return failure(ErrorCode::InvalidArgument, "odd");
  return number / 2;
}

Result<int> quarter(int number) {
  return TRY(half(TRY(half(number))));
}

Result<> check_even(int number) {
  TRY(half(number));
  return {};
}

Result<std::unique_ptr<int>> boxed(int number) {
  return std::make_unique<int>(TRY(half(number)));
}

TEST(Result, TryTakesTheValueOrPassesTheErrorUp) {
  EXPECT_EQ(*quarter(12), 3);
  const auto failed = quarter(6);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(failed.error().message, "odd");
}

TEST(Result, TryWorksWithoutAValue) {
  EXPECT_TRUE(check_even(2));
  EXPECT_FALSE(check_even(3));
}

TEST(Result, TryMovesWhatCannotBeCopied) {
  const auto taken = []() -> Result<std::unique_ptr<int>> { return TRY(boxed(8)); }();
  ASSERT_TRUE(taken);
  EXPECT_EQ(**taken, 4);
}

TEST(Result, MessageReadsFromTheWholeToTheDetail) {
  errno = ENOENT;
  const Failure inner = syscall_failure("open", "/nowhere");
  const Failure outer = while_doing("start sandbox", inner.value());
  EXPECT_EQ(outer.value().message, "start sandbox: open /nowhere: No such file or directory");
  EXPECT_EQ(outer.value().code, ErrorCode::NotFound);
}

TEST(Result, ErrorNumbersHaveACode) {
  EXPECT_EQ(syscall_failure(EACCES, "x").value().code, ErrorCode::PermissionDenied);
  EXPECT_EQ(syscall_failure(EEXIST, "x").value().code, ErrorCode::AlreadyExists);
  EXPECT_EQ(syscall_failure(ENOSPC, "x").value().code, ErrorCode::ResourceExhausted);
  EXPECT_EQ(syscall_failure(EPIPE, "x").value().code, ErrorCode::Unavailable);
  EXPECT_EQ(syscall_failure(ENOSYS, "x").value().code, ErrorCode::Unsupported);
  EXPECT_EQ(syscall_failure(EBADF, "x").value().code, ErrorCode::Internal);
  EXPECT_EQ(syscall_failure(99999, "x").value().message, "x: unknown error");
}

}  // namespace
}  // namespace nutshell
