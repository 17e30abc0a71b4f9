#include <array>

#include "compaction/parser.h"
#include "compaction/parsers/cargo_parser.h"
#include "compaction/parsers/cmake_parser.h"
#include "compaction/parsers/coverage_parser.h"
#include "compaction/parsers/ctest_parser.h"
#include "compaction/parsers/divided_table_parser.h"
#include "compaction/parsers/docker_build_parser.h"
#include "compaction/parsers/eslint_parser.h"
#include "compaction/parsers/find_parser.h"
#include "compaction/parsers/gcc_parser.h"
#include "compaction/parsers/git_blame_parser.h"
#include "compaction/parsers/git_diff_parser.h"
#include "compaction/parsers/git_log_parser.h"
#include "compaction/parsers/git_oneline_parser.h"
#include "compaction/parsers/git_stat_parser.h"
#include "compaction/parsers/git_status_parser.h"
#include "compaction/parsers/go_parser.h"
#include "compaction/parsers/gradle_parser.h"
#include "compaction/parsers/grep_parser.h"
#include "compaction/parsers/gtest_parser.h"
#include "compaction/parsers/install_parser.h"
#include "compaction/parsers/javac_parser.h"
#include "compaction/parsers/jest_parser.h"
#include "compaction/parsers/json_parser.h"
#include "compaction/parsers/junit_parser.h"
#include "compaction/parsers/kubectl_describe_parser.h"
#include "compaction/parsers/log_parser.h"
#include "compaction/parsers/ls_parser.h"
#include "compaction/parsers/make_parser.h"
#include "compaction/parsers/maven_parser.h"
#include "compaction/parsers/mocha_parser.h"
#include "compaction/parsers/ninja_parser.h"
#include "compaction/parsers/node_test_parser.h"
#include "compaction/parsers/pytest_parser.h"
#include "compaction/parsers/python_traceback_parser.h"
#include "compaction/parsers/table_parser.h"
#include "compaction/parsers/test_events_parser.h"
#include "compaction/parsers/tree_parser.h"
#include "compaction/parsers/tsc_parser.h"
#include "compaction/parsers/unittest_parser.h"
#include "compaction/parsers/vitest_parser.h"

namespace nutshell::compaction {

std::span<const Parser> parsers() {
  static const std::array kParsers = {
      // git, recognised by its first line or the form of most lines
      git_status_parser(), git_log_parser(), git_diff_parser(), git_blame_parser(),
      git_stat_parser(), git_oneline_parser(),
      // recognised by their command, whatever their lines look like
      install_parser(), grep_parser(), find_parser(), docker_build_parser(),
      // test runners before the tools that run them or are run by them
      pytest_parser(), unittest_parser(), jest_parser(), vitest_parser(), mocha_parser(),
      node_test_parser(), cargo_parser(), ctest_parser(), gtest_parser(), maven_parser(),
      gradle_parser(), junit_parser(), go_parser(), test_events_parser(), coverage_parser(),
      // compilers and linters that the build systems below do not run
      tsc_parser(), eslint_parser(), javac_parser(),
      // builds before the configure step and the compilers inside them
      ninja_parser(), make_parser(), cmake_parser(), gcc_parser(), python_traceback_parser(),
      // listings and data
      ls_parser(), tree_parser(), log_parser(), json_parser(), divided_table_parser(),
      table_parser(), kubectl_describe_parser()};
  return kParsers;
}

}  // namespace nutshell::compaction
