#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/scratch_fixture.h"
#include "cli/flags.h"

namespace nutshell::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ConfigFile : public testing::Test {
 protected:
  std::string read(const std::string& text) {
    flags_.config = scratch_ / "nutshell.toml";
    EXPECT_TRUE(write_file(flags_.config, text));
    const auto done = read_config(flags_);
    return done ? "" : done.error().message;
  }

  ScratchDirectory scratch_;
  Flags flags_;
};

TEST_F(ConfigFile, GivesTextsNumbersAndLists) {
  EXPECT_EQ(read("memory = \"1g\"\nprocesses = 32\ncpus = 0.5\nenvironment = [\"A=1\", \"B=2\"]\n"),
            "");
  EXPECT_EQ(flags_.texts["memory"], "1g");
  EXPECT_EQ(flags_.texts["processes"], "32");
  EXPECT_EQ(flags_.texts["cpus"], "0.5");
  EXPECT_THAT(flags_.lists["env"], ElementsAre("A=1", "B=2"));
}

TEST_F(ConfigFile, GivesWayToTheCommandLine) {
  flags_.texts["memory"] = "2g";
  flags_.lists["env"] = {"A=line"};
  EXPECT_EQ(read("memory = \"1g\"\nenvironment = [\"A=file\"]\n"), "");
  EXPECT_EQ(flags_.texts["memory"], "2g");
  EXPECT_THAT(flags_.lists["env"], ElementsAre("A=file", "A=line"));  // the last one wins
}

TEST_F(ConfigFile, UnknownKeyIsAnErrorWithASuggestion) {
  EXPECT_THAT(read("memroy = \"1g\"\n"),
              HasSubstr("unknown key 'memroy' (did you mean 'memory'?)"));
  EXPECT_THAT(read("[limits]\nmemory = \"1g\"\n"), HasSubstr("unknown key 'limits'"));
}

TEST_F(ConfigFile, SaysWhetherTheHostReadsRequests) {
  EXPECT_EQ(read("inspect = true\nsecrets = [\"T=@env:T,host=a.test\"]\n"), "");
  EXPECT_EQ(flags_.texts["inspect"], "inspect");
  EXPECT_THAT(flags_.lists["secret"], ElementsAre("T=@env:T,host=a.test"));
}

TEST_F(ConfigFile, WrongTypesAreNamed) {
  EXPECT_THAT(read("memory = true\n"), HasSubstr("memory must be a string or a number"));
  EXPECT_THAT(read("memory = [\"1g\"]\n"), HasSubstr("memory must be a string or a number"));
  EXPECT_THAT(read("environment = \"A=1\"\n"), HasSubstr("environment must be a list of strings"));
  EXPECT_THAT(read("environment = [1]\n"), HasSubstr("environment must be a list of strings"));
}

TEST_F(ConfigFile, BrokenTextIsAnErrorWithItsLine) {
  EXPECT_THAT(read("memory = \"1g\"\nprocesses = = 3\n"), HasSubstr("line 2:"));
  EXPECT_THAT(read(std::string("memory = \"\0\"", 12)), HasSubstr("line 1:"));
}

TEST_F(ConfigFile, MissingOrTooLargeIsAnError) {
  flags_.config = scratch_ / "none.toml";
  EXPECT_EQ(read_config(flags_).error().code, ErrorCode::NotFound);
  EXPECT_NE(read(std::string((1U << 20U) + 1, '#')), "");
}

TEST_F(ConfigFile, NotNamedChangesNothing) {
  EXPECT_TRUE(read_config(flags_));
  EXPECT_FALSE(flags_.texts["memory"]);
}

}  // namespace
}  // namespace nutshell::cli
