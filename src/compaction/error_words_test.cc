#include "compaction/error_words.h"

#include <gtest/gtest.h>

namespace nutshell::compaction {
namespace {

TEST(ErrorWords, ErrorsAreSeen) {
  for (const char* line :
       {"error: expected ;", "a.c:1:2: fatal error: x.h: No such file", "ValueError: bad",
        "3 failed, 2 passed", "10 errors", "npm ERR! code E404", "thread 'main' panicked at x",
        "E: Unable to locate package", "bash: foo: command not found", "FAILED tests/a.py::b",
        "java.lang.IllegalStateException: no", "[ERROR] x", "Killed", "level=error msg=x",
        "--- FAIL: TestX (0.00s)", "undefined reference to `f'"}) {
    EXPECT_TRUE(looks_like_error(line)) << line;
  }
}

TEST(ErrorWords, NamesAndZeroesAreNone) {
  for (const char* line : {"src/error.rs", "test tests::parse_error ... ok", "0 errors",
                           "no errors found", "Compiling thiserror v1.0", "g++ -Werror -c a.cc",
                           "errors=0 failures=0", "tests/a.py::test_error PASSED [ 12%]",
                           "failover", "error_handler(x)", "error-chain v0.12", "a", "", "err"}) {
    EXPECT_FALSE(looks_like_error(line)) << line;
  }
}

TEST(ErrorWords, WarningIsLessThanError) {
  EXPECT_EQ(look_at("warning: unused").kind, LineKind::Warning);
  EXPECT_EQ(look_at("warning: this is an error").kind, LineKind::Error);
  EXPECT_EQ(look_at("WARN slow").kind, LineKind::Warning);
  EXPECT_EQ(look_at("x: error: y").at, 3U);
}

}  // namespace
}  // namespace nutshell::compaction
