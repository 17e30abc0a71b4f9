#include "compaction/parsers/cargo_parser.h"

#include <gtest/gtest.h>

#include "compaction/parsers/given_output.h"

namespace nutshell::compaction {
namespace {

TEST(CargoParser, TellsFailedTestsOfEveryProgram) {
  const GivenOutput given("cargo test", 101, R"(
running 3 tests
test tests::bad ... FAILED
test tests::ok ... ok
test tests::sp - should panic ... FAILED

failures:

---- tests::bad stdout ----
some out

thread 'tests::bad' (833) panicked at src/lib.rs:14:46:
assertion `left == right` failed: sum of 1 and 2
  left: 3
 right: 4
stack backtrace:
   0: __rustc::rust_begin_unwind
             at /rustc/5980/library/std/src/panicking.rs:689:5
note: Some details are omitted, run with `RUST_BACKTRACE=full` for a verbose backtrace.

---- tests::sp stdout ----
note: test did not panic as expected at src/lib.rs:17:32

failures:
    tests::bad
    tests::sp

test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.13s


running 1 test
test src/lib.rs - add (line 2) ... FAILED

failures:

---- src/lib.rs - add (line 2) stdout ----
Test executable failed (exit status: 101).

stderr:

thread 'main' panicked at 'boom', src/lib.rs:5:1

failures:
    src/lib.rs - add (line 2)

test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.2s

   Compiling demo v0.1.0 (/src)
error: test failed, to rerun pass `--lib`
)");
  const auto facts = given.parsed_by(cargo_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(failure_names(*facts),
            (std::vector<std::string>{"tests::bad", "tests::sp", "src/lib.rs - add (line 2)"}));
  EXPECT_EQ(to_text(facts->failures[0].where), "src/lib.rs:14:46");
  EXPECT_EQ(facts->failures[0].detail,
            (std::vector<std::string>{"assertion `left == right` failed: sum of 1 and 2",
                                      "left: 3  right: 4", "some out"}));
  EXPECT_EQ(to_text(facts->failures[2].where), "src/lib.rs:5:1");
  EXPECT_EQ(total_of(*facts, "failed"), 3U);
  EXPECT_EQ(total_of(*facts, "passed"), 1U);
}

TEST(CargoParser, TellsDiagnosticsWithLabelsAndSuggestions) {
  const GivenOutput given("cargo build", 101, R"(   Compiling demo v0.1.0 (/src)
warning: unused variable: `s`
 --> src/main.rs:3:10
  |
3 | fn takes(s: String) {}
  |          ^ help: if this is intentional, prefix it with an underscore: `_s`
  |
  = note: `#[warn(unused_variables)]` (part of `#[warn(unused)]`) on by default

error[E0308]: mismatched types
 --> src/main.rs:5:18
  |
5 |     let x: i32 = "s";
  |            ---   ^^^ expected `i32`, found `&str`
  |            |
  |            expected due to this
help: try this
  |
5 |     let x: &str = "s";
  |            ~~~~

For more information about an error, try `rustc --explain E0308`.
error: could not compile `demo` (bin "demo") due to 1 previous error; 1 warning emitted
)");
  const auto facts = given.parsed_by(cargo_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(placed_messages(*facts),
            (std::vector<std::string>{"src/main.rs:3:10 unused variable: `s`",
                                      "src/main.rs:5:18 mismatched types"}));
  EXPECT_EQ(facts->diagnostics[0].rule, "unused_variables");
  EXPECT_EQ(facts->diagnostics[1].rule, "E0308");
  EXPECT_EQ(facts->diagnostics[1].detail,
            (std::vector<std::string>{"expected `i32`, found `&str`", "expected due to this",
                                      "help: try this", "5 |     let x: &str = \"s\";"}));
  EXPECT_EQ(facts->tool, "cargo build");
}

TEST(CargoParser, KeepsTheWordsOfAProgramItRan) {
  const GivenOutput given("cargo run", 101, R"(hello
   Compiling demo v0.1.0 (/src)
     Running `target/debug/demo`

thread 'main' (11) panicked at src/main.rs:1:126:
called `Option::unwrap()` on a `None` value
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace
)");
  const auto facts = given.parsed_by(cargo_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->kept, (std::vector<std::string>{"hello"}));
  EXPECT_EQ(placed_messages(*facts),
            (std::vector<std::string>{"src/main.rs:1:126 thread 'main' panicked"}));
}

TEST(CargoParser, RefusesARunWhoseFailuresAreNotAllThere) {
  const GivenOutput given("cargo test | tail -2", 101,
                          "test result: FAILED. 1 passed; 2 failed; 0 ignored; finished in 0.1s\n");
  EXPECT_FALSE(given.parsed_by(cargo_parser()));
}

}  // namespace
}  // namespace nutshell::compaction
