#include "base/timed_read.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/pipe.h"

namespace nutshell {
namespace {

using namespace std::chrono_literals;

TEST(TimedRead, GivesAllUpToTheEnd) {
  Pipe pipe = *make_pipe();
  ASSERT_TRUE(write_all(pipe.write.get(), "text"));
  pipe.write.reset();
  EXPECT_EQ(read_to_end(pipe.read.get(), 4, Deadline::in(10s)), "text");
}

TEST(TimedRead, RefusesMoreThanItsLimit) {
  Pipe pipe = *make_pipe();
  ASSERT_TRUE(write_all(pipe.write.get(), "text!"));
  EXPECT_EQ(read_to_end(pipe.read.get(), 4, Deadline::in(10s)).error().code, ErrorCode::Corrupt);
}

TEST(TimedRead, EndsAtItsDeadline) {
  const Pipe pipe = *make_pipe();
  const auto text = read_to_end(pipe.read.get(), 4, Deadline::in(10ms));
  EXPECT_EQ(text.error().code, ErrorCode::DeadlineExceeded);
}

}  // namespace
}  // namespace nutshell
