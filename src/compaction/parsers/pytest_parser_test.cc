#include "compaction/parsers/pytest_parser.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "compaction/parsers/given_output.h"

namespace nutshell::compaction {
namespace {

TEST(PytestParser, JoinsReportsAndSummary) {
  const GivenOutput given(
      "pytest", 1,
      R"(============================= test session starts ==============================
platform linux -- Python 3.11.7, pytest-9.2.0, pluggy-1.7.0
collected 4 items

test_a.py .FFE                                                           [100%]

==================================== ERRORS ====================================
_______________________ ERROR at setup of test_setup_err _______________________

    @pytest.fixture
    def broken():
>       raise RuntimeError("fixture broke")
E       RuntimeError: fixture broke

test_a.py:24: RuntimeError
=================================== FAILURES ===================================
__________________________________ test_raise __________________________________

    def test_raise():
>       helper(3)

test_a.py:14: 
_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ 

x = 3

    def helper(x):
>           raise ValueError("bad value %d" % x)
E           ValueError: bad value 3

test_a.py:4: ValueError
----------------------------- Captured stdout call -----------------------------
hello stdout
____________________________ TestK.test_par[a - b] _____________________________

self = <test_a.TestK object at 0x7f8fece529d0>, n = 'a - b'

>       assert n == 1
E       AssertionError: assert 'a - b' == 1
E         Use -v to get more diff

test_a.py:21: AssertionError
=============================== warnings summary ===============================
test_a.py::test_warn
  /src/test_a.py:38: DeprecationWarning: deprecated thing
    warnings.warn("deprecated thing", DeprecationWarning)

-- Docs: https://docs.pytest.org/en/stable/how-to/capture-warnings.html
=========================== short test summary info ============================
FAILED test_a.py::test_raise - ValueError: bad value 3
FAILED test_a.py::TestK::test_par[a - b] - AssertionError: assert 'a - b' == 1
ERROR test_a.py::test_setup_err - RuntimeError: fixture broke
============== 2 failed, 1 passed, 1 warning, 1 error in 0.17s ===============
make: *** [Makefile:3: test] Error 1
)");
  EXPECT_TRUE(given.is_recognised_by(pytest_parser()));
  const auto facts = given.parsed_by(pytest_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(failure_names(*facts),
            (std::vector<std::string>{"test_a.py::test_setup_err", "test_a.py::test_raise",
                                      "test_a.py::TestK::test_par[a - b]"}));
  EXPECT_EQ(facts->failures[0].word, "ERROR");
  EXPECT_EQ(to_text(facts->failures[1].where), "test_a.py:4");
  EXPECT_EQ(facts->failures[1].detail,
            (std::vector<std::string>{"test_a.py:14  helper(3)", "x = 3", "ValueError: bad value 3",
                                      "hello stdout"}));
  EXPECT_EQ(total_of(*facts, "failed"), 2U);
  EXPECT_EQ(total_of(*facts, "error"), 1U);
  EXPECT_EQ(placed_messages(*facts),
            (std::vector<std::string>{"/src/test_a.py:38 DeprecationWarning: deprecated thing"}));
  EXPECT_EQ(facts->kept, (std::vector<std::string>{"make: *** [Makefile:3: test] Error 1",
                                                   "warned: test_a.py::test_warn"}));
}

TEST(PytestParser, AnErrorOfAnotherProgramKeepsTheLinesBelowIt) {
  const GivenOutput given(
      "pytest", 1,
      R"(============================= test session starts ==============================
collected 1 item

test_a.py F                                                              [100%]

=================================== FAILURES ===================================
__________________________________ test_raise __________________________________

    def test_raise():
        first = 1
FATAL: no lease for web-1
    wanted: 8797570
    holder: db-9
>       assert first == 2
E       assert 1 == 2

test_a.py:14: AssertionError
=========================== short test summary info ============================
FAILED test_a.py::test_raise - assert 1 == 2
============================== 1 failed in 0.04s ===============================
)");
  ASSERT_TRUE(given.is_recognised_by(pytest_parser()));
  const auto facts = given.parsed_by(pytest_parser());
  ASSERT_TRUE(facts);
  ASSERT_EQ(facts->failures.size(), 1U);
  const auto& detail = facts->failures.front().detail;
  const std::vector<std::string> wanted = {"FATAL: no lease for web-1", "    wanted: 8797570",
                                           "    holder: db-9", "assert 1 == 2"};
  EXPECT_NE(std::search(detail.begin(), detail.end(), wanted.begin(), wanted.end()), detail.end())
      << testing::PrintToString(detail);
  EXPECT_TRUE(std::ranges::none_of(
      detail, [](const std::string& line) { return line.find("first = 1") != std::string::npos; }));
}

TEST(PytestParser, ReadsShortTracebacksAndQuietSums) {
  const GivenOutput given(
      "pytest -q --tb=short", 1,
      R"(.F                                                                       [100%]
=================================== FAILURES ===================================
__________________________________ test_raise __________________________________
test_a.py:14: in test_raise
    helper(3)
/usr/lib/python3/site-packages/x.py:4: in helper
    raise ValueError("bad value %d" % x)
E   ValueError: bad value 3
=========================== short test summary info ============================
FAILED test_a.py::test_raise - ValueError: bad value 3
1 failed, 1 passed in 0.03s
)");
  const auto facts = given.parsed_by(pytest_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(to_text(facts->failures.at(0).where), "test_a.py:14");
  EXPECT_EQ(facts->failures[0].detail,
            (std::vector<std::string>{"> helper(3)", "ValueError: bad value 3"}));
  EXPECT_EQ(total_of(*facts, "passed"), 1U);
}

TEST(PytestParser, PlacesOneLineReports) {
  const GivenOutput given(
      "pytest --tb=line", 1,
      R"(=================================== FAILURES ===================================
E   assert [1, 2, 3] == [1, 2, 4]
      At index 2 diff: 3 != 4
/src/test_a.py:11: assert [1, 2, 3] == [1, 2, 4]
=========================== short test summary info ============================
FAILED test_a.py::test_eq - assert [1, 2, 3] == [1, 2...
========================= 1 failed in 0.03s ==========================
)");
  const auto facts = given.parsed_by(pytest_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(failure_names(*facts), (std::vector<std::string>{"test_a.py::test_eq"}));
  EXPECT_EQ(to_text(facts->failures[0].where), "/src/test_a.py:11");
}

TEST(PytestParser, TellsErrorsInCollection) {
  const GivenOutput given(
      "python -m pytest sub", 2,
      R"(==================================== ERRORS ====================================
_______________________ ERROR collecting sub/test_syn.py _______________________
E     File "/src/sub/test_syn.py", line 1
E       def test_x(:
E                  ^
E   SyntaxError: invalid syntax
=========================== short test summary info ============================
ERROR sub/test_syn.py
!!!!!!!!!!!!!!!!!!! Interrupted: 1 error during collection !!!!!!!!!!!!!!!!!!!!
============================== 1 error in 0.25s ===============================
)");
  const auto facts = given.parsed_by(pytest_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(failure_names(*facts), (std::vector<std::string>{"sub/test_syn.py"}));
  EXPECT_EQ(to_text(facts->failures[0].where), "/src/sub/test_syn.py:1");
  EXPECT_EQ(facts->kept, (std::vector<std::string>{"Interrupted: 1 error during collection"}));
}

TEST(PytestParser, RefusesWhenFailuresWereCutOff) {
  const GivenOutput given("pytest | tail -1", 1, "======= 3 failed, 1 passed in 0.17s =======\n");
  EXPECT_FALSE(given.parsed_by(pytest_parser()));
}

TEST(PytestParser, WorkerThatWentDownIsTold) {
  const GivenOutput given(
      "pytest -n2", 1,
      R"(============================= test session starts ==============================
gw0 [2] / gw1 [2]
[gw0] [ 50%] PASSED tests/test_a.py::test_ok
[gw1] node down: Not properly terminated
=========================== short test summary info ============================
FAILED tests/test_a.py::test_q - worker 'gw1' crashed while running 'tests/test_a.py::test_q'
========================= 1 failed, 1 passed in 0.05s ==========================
)");
  const auto facts = given.parsed_by(pytest_parser());
  ASSERT_TRUE(facts);
  EXPECT_NE(
      std::find(facts->kept.begin(), facts->kept.end(), "[gw1] node down: Not properly terminated"),
      facts->kept.end());
}

}  // namespace
}  // namespace nutshell::compaction
