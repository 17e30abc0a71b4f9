#include "backends/native/processes/hidden_environment.h"

#include <gmock/gmock.h>

namespace nutshell::native {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(HiddenEnvironment, ShowsWhatWasHidden) {
  HiddenEnvironment hidden;
  EXPECT_THAT(*hidden.show(), IsEmpty());
  ASSERT_TRUE(hidden.hide({"A=1", "EMPTY=", "LINES=a\nb"}));
  EXPECT_THAT(*hidden.show(), ElementsAre("A=1", "EMPTY=", "LINES=a\nb"));
  EXPECT_THAT(*hidden.show(), ElementsAre("A=1", "EMPTY=", "LINES=a\nb")) << "once more";
  ASSERT_TRUE(hidden.hide({}));
  EXPECT_THAT(*hidden.show(), IsEmpty());
}

TEST(HiddenEnvironment, HoldsAsMuchAsARequest) {
  const std::string large = "LARGE=" + std::string(100'000, 'x');
  HiddenEnvironment hidden;
  ASSERT_TRUE(hidden.hide({large, "B=2"}));
  EXPECT_THAT(*hidden.show(), ElementsAre(large, "B=2"));
}

}  // namespace
}  // namespace nutshell::native
