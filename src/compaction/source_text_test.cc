#include "compaction/source_text.h"

#include <gtest/gtest.h>

#include "compaction/clean.h"
#include "compaction/command_words.h"

namespace nutshell::compaction {
namespace {

TEST(SourceText, FileIsReadOnlyIfItIsNamed) {
  for (const auto* command :
       {"cat a.py", "head -n 40 src/a.cc", "tail -c 100 a.py", "sed -n 1,9p a.c",
        "sed -n -e 1,9p a.c", "head a.py", "git show HEAD:a.py", "bat -r 1:9 a.rs"})
    EXPECT_TRUE(reads_source(command_words(command))) << command;
  for (const auto* command :
       {"seq 1 9 | head -c 10000000", "run | tail -n 100", "run | tail -100", "run | sed -n 1,9p",
        "run | sed -e s/a/b/", "run | cat -n", "cat a.log", "tail -n 5 out.txt", "git show HEAD"})
    EXPECT_FALSE(reads_source(command_words(command))) << command;
}

TEST(SourceText, ReportOfTestsIsNoSource) {
  const CleanText report("<?xml version=\"1.0\"?>\n<testsuites>\n<testsuite name=\"a\">\n", "");
  EXPECT_TRUE(is_report(report.lines()));
  const CleanText page("<?xml version=\"1.0\"?>\n<project>\n<name>testsuite</name>\n", "");
  EXPECT_FALSE(is_report(page.lines()));
}

}  // namespace
}  // namespace nutshell::compaction
