#include "wire/start_report.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/file.h"
#include "base/socket.h"

namespace nutshell::wire {
namespace {

using namespace std::chrono_literals;

class StartReport : public testing::Test {
 protected:
  void SetUp() override {
    auto pair = make_socket_pair(SocketKind::Stream);
    ASSERT_TRUE(pair) << pair.error().message;
    host_ = std::move(pair->first);
    init_ = std::move(pair->second);
  }
  Result<> await() const { return await_copy(host_.get(), Deadline::in(10s)); }
  ErrorCode code_after(std::string_view bytes) {
    EXPECT_TRUE(write_all(init_.get(), bytes));
    init_.reset();
    const auto told = await();
    EXPECT_FALSE(told);
    return told ? ErrorCode::Internal : told.error().code;
  }

  UniqueFd host_;
  UniqueFd init_;
};

TEST_F(StartReport, ReleaseIsHeardBeforeTheMakerHangsUp) {
  std::thread init(
      [this] { EXPECT_TRUE(await_release(init_.get(), init_.get(), Deadline::in(10s))); });
  const auto released = release(host_.get(), Deadline::in(10s));
  init.join();
  EXPECT_TRUE(released) << released.error().message;
}

TEST_F(StartReport, MakerThatDiesReleasesNothing) {
  host_.reset();
  const auto heard = await_release(init_.get(), init_.get(), Deadline::in(10s));
  ASSERT_FALSE(heard);
  EXPECT_EQ(heard.error().code, ErrorCode::Unavailable);
}

TEST_F(StartReport, InitThatDiesIsNotReleased) {
  init_.reset();
  EXPECT_FALSE(release(host_.get(), Deadline::in(10s)));
}

TEST_F(StartReport, TakesItsLineAndNoByteMore) {
  ASSERT_TRUE(report_copy(init_.get(), {}));
  ASSERT_TRUE(write_all(init_.get(), "the greeting\n"));
  EXPECT_TRUE(await());
  init_.reset();
  EXPECT_EQ(read_all(host_.get(), 4096).value_or(""), "the greeting\n");
}

TEST_F(StartReport, ReasonIsTold) {
  ASSERT_TRUE(report_copy(init_.get(), failure(ErrorCode::NotFound, "open\nfile: none")));
  const auto told = await();
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().message, "copy the workspace: open file: none");
  EXPECT_EQ(told.error().code, ErrorCode::NotFound);
}

TEST_F(StartReport, AnOversizedReportSaysWhatToDo) {
  ASSERT_TRUE(report_copy(init_.get(), failure(ErrorCode::ResourceExhausted, "write x")));
  const auto told = await();
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().message,
            "copy the workspace: write x; raise --disk and --memory, or take a smaller directory");
}

TEST_F(StartReport, LineInPiecesIsOneLine) {
  std::thread slow([&] {
    for (const char* piece : {"cop", "ied", "\n"}) {
      EXPECT_TRUE(write_all(init_.get(), piece));
      std::this_thread::sleep_for(5ms);
    }
  });
  EXPECT_TRUE(await());
  slow.join();
}

TEST_F(StartReport, LongReasonIsCut) {
  ASSERT_TRUE(report_copy(init_.get(), failure(ErrorCode::Internal, std::string(100'000, 'x'))));
  const auto told = await();
  ASSERT_FALSE(told);
  EXPECT_LT(told.error().message.size(), 1100U);
}

TEST_F(StartReport, EndIsAnError) {
  EXPECT_EQ(code_after(""), ErrorCode::Unavailable);
}
TEST_F(StartReport, HalfALineIsAnError) {
  EXPECT_EQ(code_after("copied"), ErrorCode::Unavailable);
}
TEST_F(StartReport, OtherWordsAreAnError) {
  EXPECT_EQ(code_after("HTTP/1.1 200 OK\n"), ErrorCode::Corrupt);
}
TEST_F(StartReport, FailureWithoutACodeIsAnError) {
  EXPECT_EQ(code_after("not copied: \n"), ErrorCode::Corrupt);
}
TEST_F(StartReport, EndlessLineIsAnError) {
  EXPECT_EQ(code_after(std::string(5000, 'x')), ErrorCode::Corrupt);
}
TEST_F(StartReport, CodeThatIsNoneIsTakenForAnother) {
  EXPECT_EQ(code_after("not copied: zwhat\n"), ErrorCode::Internal);
}

TEST_F(StartReport, SilenceEndsAtTheDeadline) {
  EXPECT_EQ(await_copy(host_.get(), Deadline::in(5ms)).error().code, ErrorCode::DeadlineExceeded);
}

}  // namespace
}  // namespace nutshell::wire
