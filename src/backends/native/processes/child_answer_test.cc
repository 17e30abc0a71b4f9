#include "backends/native/processes/child_answer.h"

#include <gtest/gtest.h>

namespace nutshell::native {
namespace {

TEST(ChildAnswer, KeepsTextAndError) {
  EXPECT_EQ(*decode_answer(encode_answer(Result<std::string>("a text"))), "a text");
  EXPECT_EQ(*decode_answer(encode_answer(Result<>())), "");
  const Result<> failed = failure(ErrorCode::NotFound, "no such layer");
  const auto back = decode_answer(encode_answer(failed));
  ASSERT_FALSE(back);
  EXPECT_EQ(back.error().code, ErrorCode::NotFound);
  EXPECT_EQ(back.error().message, "no such layer");
}

TEST(ChildAnswer, IsAnErrorIfTheChildDied) {
  EXPECT_EQ(decode_answer("").error().code, ErrorCode::Internal);
}

}  // namespace
}  // namespace nutshell::native
