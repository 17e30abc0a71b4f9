// Searches by a real init, beside its other work.
#include <gtest/gtest.h>

#include <chrono>
#include <variant>

#include "base/file.h"
#include "init/init_fixture.h"

namespace nutshell::init {
namespace {

using namespace std::chrono_literals;

class InitSearchTest : public InitTest {
 protected:
  void put(const std::string& name, const std::string& text) {
    ASSERT_TRUE(write_file(scratch_ / name, text));
  }
  // Takes seconds unless it is ended.
  wire::Search slow_search() {
    for (int file = 0; file < 8; ++file)
      put("slow" + std::to_string(file), std::string(15U << 20U, 'a'));
    wire::Search request;
    request.pattern = "[a-q][^u-z]{13}x|(a|b)*c[^q]{20}$";
    request.timeout_ms = 60'000;
    return request;
  }
};

TEST_F(InitSearchTest, ListsFindsAndSearches) {
  put("a.txt", "one\nneedle\n");
  wire::InitClient own = client();
  const auto listing = own.call<wire::Listing>(wire::ListDirectory());
  ASSERT_TRUE(listing && std::holds_alternative<wire::Listing>(*listing));
  EXPECT_EQ(std::get<wire::Listing>(*listing).total_files, 1U);
  wire::FindFiles every;
  every.glob = "*.txt";
  const auto found = own.call<wire::FindPage>(every);
  ASSERT_TRUE(found && std::holds_alternative<wire::FindPage>(*found));
  EXPECT_EQ(std::get<wire::FindPage>(*found).total, 1U);
  wire::Search request;
  request.pattern = "nee.le";
  const auto page = own.call<wire::SearchPage>(request);
  ASSERT_TRUE(page && std::holds_alternative<wire::SearchPage>(*page));
  EXPECT_EQ(std::get<wire::SearchPage>(*page).total_matches, 1U);
}

TEST_F(InitSearchTest, StaysResponsiveWhileItSearches) {
  const wire::Search request = slow_search();
  wire::Channel busy(connect());
  busy.queue(busy.new_conversation(), request);
  ASSERT_TRUE(busy.send_all(Deadline::in(5s)));
  const auto start = Clock::now();
  EXPECT_EQ(run(shell("echo here")).output, "here\n");
  EXPECT_LT(Clock::now() - start, 5s);
}

TEST_F(InitSearchTest, EndsASearchNobodyWaitsFor) {
  const wire::Search request = slow_search();
  {
    wire::Channel busy(connect());
    busy.queue(busy.new_conversation(), request);
    ASSERT_TRUE(busy.send_all(Deadline::in(5s)));
    const Deadline deadline = Deadline::in(10s);
    while (count_processes("search") == 0 && !deadline.has_passed()) {
    }
    EXPECT_EQ(count_processes("search"), 1);
  }
  const Deadline deadline = Deadline::in(10s);
  while (count_processes("search") > 0 && !deadline.has_passed()) {
  }
  EXPECT_EQ(count_processes("search"), 0);
}

}  // namespace
}  // namespace nutshell::init
