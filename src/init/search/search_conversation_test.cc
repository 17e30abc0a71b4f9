#include "init/search/search_conversation.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "base/deadline.h"
#include "init/search/tree_fixture.h"
#include "wire/frame.h"

namespace nutshell::init::search {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::HasSubstr;

class SearchConversationTest : public SearchTreeTest {
 protected:
  void SetUp() override { state_.working_directory = scratch_.path(); }
  // Reaps the workers, as init does.
  void TearDown() override {
    while (::waitpid(-1, nullptr, 0) > 0) {
    }
  }

  template <typename Request>
  std::unique_ptr<Conversation> open(Request request) {
    const std::string payload = wire::encode(std::move(request));
    auto opened = open_search_conversation({7, Request::kType, payload}, state_);
    EXPECT_TRUE(opened) << opened.error().message;
    return opened ? std::move(*opened) : nullptr;
  }

  // Does what init's loop does.
  static std::string wait_for_answer(Conversation& conversation) {
    const Deadline deadline = Deadline::in(30s);
    while (!conversation.ready() && !deadline.has_passed()) {
      pollfd wanted{conversation.descriptor(), POLLIN, 0};
      ::poll(&wanted, 1, earlier(deadline, conversation.deadline()).poll_timeout());
      conversation.progress();
    }
    std::string frame(conversation.ready().value_or(""));
    EXPECT_GE(frame.size(), wire::kHeaderBytes) << "no answer";
    conversation.sent();
    EXPECT_TRUE(conversation.is_over());
    return frame;
  }
  template <typename Reply, typename Request>
  Reply answer(Request request) {
    const auto conversation = open(std::move(request));
    return decode_answer<Reply>(*conversation);
  }
  template <typename Reply>
  static Reply decode_answer(Conversation& conversation) {
    const std::string frame = wait_for_answer(conversation);
    std::string expected;
    wire::append_header(expected, 7, Reply::kType, frame.size() - wire::kHeaderBytes);
    EXPECT_EQ(frame.substr(0, wire::kHeaderBytes), expected);
    const auto reply = wire::decode<Reply>(frame.substr(wire::kHeaderBytes));
    EXPECT_TRUE(reply) << "another kind of answer";
    return reply.value_or(Reply());
  }
  wire::Search slow_search() {
    for (int file = 0; file < 8; ++file)
      put("slow" + std::to_string(file), std::string(15U << 20U, 'a'));
    wire::Search request = pattern("[a-q][^u-z]{13}x|(a|b)*c[^q]{20}$");
    request.timeout_ms = 60'000;
    return request;
  }

  SearchState state_;
};

TEST_F(SearchConversationTest, AnswersSmallListingsAtOnce) {
  put("a", "");
  const auto conversation = open(wire::ListDirectory());
  EXPECT_EQ(conversation->descriptor(), -1);
  ASSERT_TRUE(conversation->ready());
  EXPECT_EQ(decode_answer<wire::Listing>(*conversation).total_files, 1U);
}

TEST_F(SearchConversationTest, AnswersLargeOnesFromAWorker) {
  for (int i = 0; i < 3000; ++i)
    put("d" + std::to_string(i % 9) + "/" + std::string(60, 'n') + std::to_string(i), "needle\n");
  wire::ListDirectory deep;
  deep.depth = 3;
  deep.most_entries = 100'000;
  EXPECT_EQ(answer<wire::Listing>(deep).total_files, 3000U);
  wire::FindFiles every;
  every.most_results = 100'000;
  EXPECT_EQ(answer<wire::FindPage>(every).total, 3000U);
  wire::Search request = pattern("needle");
  request.most_matches = 10'000;
  const auto page = answer<wire::SearchPage>(request);
  EXPECT_EQ(page.total_matches, 3000U);
  EXPECT_GT(page.files.size(), 1000U);  // more than a pipe holds by itself
  EXPECT_FALSE(state_.is_busy());
}

TEST_F(SearchConversationTest, PassesRefusalsOn) {
  EXPECT_EQ(answer<wire::Refused>(pattern("a(")).code, ErrorCode::InvalidArgument);
  wire::Search request = pattern("a");
  request.path = "missing";
  EXPECT_EQ(answer<wire::Refused>(request).code, ErrorCode::NotFound);
}

TEST_F(SearchConversationTest, KeepsNothingOpenInItsWorker) {
  const int number = ::open("/dev/null", O_RDONLY);  // without close-on-exec: a leak would show
  ASSERT_GE(number, 0);
  const UniqueFd leak(number);
  const auto conversation = open(slow_search());
  ASSERT_TRUE(state_.is_busy());
  // The worker is our only child.
  std::ifstream children("/proc/self/task/" + std::to_string(::getpid()) + "/children");
  std::string pid;
  children >> pid;
  if (pid.empty()) GTEST_SKIP() << "the kernel does not list children";
  const Deadline deadline = Deadline::in(10s);
  const fs::path there = "/proc/" + pid + "/fd/" + std::to_string(number);
  const auto has_leak = [&] {
    std::error_code closed_meanwhile;
    return fs::read_symlink(there, closed_meanwhile) == "/dev/null";
  };
  while (has_leak() && !deadline.has_passed())
    ::usleep(1000);
  EXPECT_FALSE(has_leak());
}

TEST_F(SearchConversationTest, EndsItsWorkerWhenNobodyWaits) {
  auto conversation = open(slow_search());
  EXPECT_TRUE(state_.is_busy());
  conversation.reset();
  EXPECT_FALSE(state_.is_busy());
  int status = 0;
  ASSERT_GT(::waitpid(-1, &status, 0), 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
}

TEST_F(SearchConversationTest, SaysSoWhenItsWorkerIsKilled) {
  const auto conversation = open(slow_search());
  std::ifstream children("/proc/self/task/" + std::to_string(::getpid()) + "/children");
  pid_t pid = 0;
  children >> pid;
  if (pid == 0) GTEST_SKIP() << "the kernel does not list children";
  ASSERT_EQ(::kill(pid, SIGKILL), 0);
  EXPECT_EQ(decode_answer<wire::Refused>(*conversation).code, ErrorCode::Unavailable);
}

TEST_F(SearchConversationTest, EndsAWorkerThatDoesNotKeepItsTime) {
  wire::Search request = slow_search();
  request.timeout_ms = 50;
  const auto conversation = open(request);
  std::ifstream children("/proc/self/task/" + std::to_string(::getpid()) + "/children");
  pid_t pid = 0;
  children >> pid;
  if (pid == 0) GTEST_SKIP() << "the kernel does not list children";
  ASSERT_EQ(::kill(pid, SIGSTOP), 0);
  EXPECT_EQ(decode_answer<wire::Refused>(*conversation).code, ErrorCode::DeadlineExceeded);
}

TEST_F(SearchConversationTest, SaysSoWhenThereIsNoRoomForAWorker) {
  put("a", "");
  const pid_t pid = ::fork();
  if (pid == 0) {
    fs::permissions(scratch_.path(), fs::perms::all);
    if (::getuid() == 0 && ::setresuid(65534, 65534, 65534) != 0) ::_exit(2);
    const rlimit none{0, 0};
    if (::setrlimit(RLIMIT_NPROC, &none) != 0) ::_exit(3);
    const auto refused = answer<wire::Refused>(pattern("[ab]"));
    ::_exit(refused.code == ErrorCode::Unavailable && !refused.next.empty() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(SearchConversationTest, RunsOnlySoManyAtOnce) {
  const wire::Search request = slow_search();
  std::vector<std::unique_ptr<Conversation>> running;
  for (int i = 0; i < 16; ++i)
    running.push_back(open(request));
  EXPECT_EQ(answer<wire::Refused>(request).code, ErrorCode::Unavailable);
  running.clear();
  EXPECT_EQ(state_.running, 0U);
}

TEST_F(SearchConversationTest, LeavesOtherMessagesToOthers) {
  const auto opened = open_search_conversation({7, wire::MessageType::Ping, {}}, state_);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::Cancelled);
}

}  // namespace
}  // namespace nutshell::init::search
