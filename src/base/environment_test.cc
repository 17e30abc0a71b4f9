#include "base/environment.h"

#include <gtest/gtest.h>
#include <stdlib.h>

namespace nutshell {
namespace {

constexpr const char* kName = "NUTSHELL_ENVIRONMENT_TEST";

class Environment : public testing::Test {
 protected:
  ~Environment() override { ::unsetenv(kName); }
};

TEST_F(Environment, VariablesThatAreNotSetAreEmpty) {
  ::unsetenv(kName);
  EXPECT_EQ(environment_variable(kName), "");
  EXPECT_TRUE(environment_path(kName).empty());
}

TEST_F(Environment, VariablesAreReadAsTheyAre) {
  ::setenv(kName, "a b\n", 1);
  EXPECT_EQ(environment_variable(kName), "a b\n");
}

TEST_F(Environment, RelativePathsAreIgnored) {
  ::setenv(kName, "state", 1);
  EXPECT_TRUE(environment_path(kName).empty());
  ::setenv(kName, "/var/state", 1);
  EXPECT_EQ(environment_path(kName), "/var/state");
}

}  // namespace
}  // namespace nutshell
