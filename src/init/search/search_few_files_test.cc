// Searches without a worker process: they give the same answers, or give up.
#include <gtest/gtest.h>

#include "base/deadline.h"
#include "init/search/search_files.h"
#include "init/search/tree_fixture.h"

namespace nutshell::init::search {
namespace {

using namespace std::chrono_literals;

class SearchFewFilesTest : public SearchTreeTest {
 protected:
  // It gives up after a time: on a busy machine it may answer only at a later try.
  wire::SearchPage search_few(const wire::Search& request) {
    const Deadline deadline = Deadline::in(30s);
    while (!deadline.has_passed()) {
      auto reply = search_few_files(place(request.path), request);
      if (!reply) continue;
      if (auto* page = std::get_if<wire::SearchPage>(&*reply)) return std::move(*page);
      break;
    }
    ADD_FAILURE() << "no page";
    return {};
  }
  void expect_more_than_few(const wire::Search& request) {
    const Place there = place(request.path);
    EXPECT_FALSE(search_few_files(there, request));
    const auto reply = search_files(there, request, 2);  // from the beginning again
    const auto* page = std::get_if<wire::SearchPage>(&reply);
    ASSERT_NE(page, nullptr);
    EXPECT_EQ(page->total_matches, 2U);
    EXPECT_EQ(page->is_partial, 0);
  }
};

TEST_F(SearchFewFilesTest, FindsWhatAnyOtherSearchFinds) {
  put("b.txt", "one\ntwo needle\n");
  put("a/x.txt", "needle\nNEEDLE again\n");
  put(".gitignore", "left-out\n");
  put("left-out", "needle\n");
  wire::Search request = pattern("needle");
  request.context = 1;
  const auto page = search_few(request);
  EXPECT_EQ(lines_of(page), lines_of(search(request)));
  EXPECT_EQ(page.total_matches, 2U);
  EXPECT_EQ(page.ignored, 1U);
  EXPECT_EQ(page.is_partial, 0);
  request.ignores_case = 1;
  request.path = "a/x.txt";
  EXPECT_EQ(search_few(request).total_matches, 2U);
}

TEST_F(SearchFewFilesTest, PassesRefusalsOn) {
  wire::Search request = pattern("a");
  request.file_type = "no such type";
  const auto reply = search_few_files(place(), request);
  ASSERT_TRUE(reply);
  EXPECT_TRUE(std::holds_alternative<wire::Refused>(*reply));
}

TEST_F(SearchFewFilesTest, LeavesExpressionsToAProcess) {
  put("a", "needle\n");
  EXPECT_FALSE(search_few_files(place(), pattern("nee[d]le")));
  EXPECT_FALSE(search_few_files(place(), pattern("(a{1000}){1000}")));
  wire::Search lines = pattern("needle");
  lines.is_multiline = 1;
  EXPECT_FALSE(search_few_files(place(), lines));
}

TEST_F(SearchFewFilesTest, LeavesLongFilesToAProcess) {
  put("a", "needle\n");
  put("long", std::string(20U << 20U, 'a') + "needle");  // one line, which would be held whole
  expect_more_than_few(pattern("needle"));
}

TEST_F(SearchFewFilesTest, LeavesLongDirectoriesToAProcess) {
  put("a", "needle\n");
  put("b", "needle\n");
  for (int i = 0; i < 200; ++i)
    put(std::string(240, 'n') + std::to_string(i), "");
  expect_more_than_few(pattern("needle"));
}

}  // namespace
}  // namespace nutshell::init::search
