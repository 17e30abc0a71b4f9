#include "server/mcp/sandbox/client_roots.h"

#include <gmock/gmock.h>

namespace nutshell::mcp {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(ClientRoots, AreTheDirectoriesOfThisMachine) {
  EXPECT_THAT(directories_in(R"({"roots":[{"uri":"file:///home/me/my%20project","name":"x"},
                                          {"uri":"file://localhost/srv/a?x#y"},
                                          {"uri":"https://example.org/a"},
                                          {"uri":"file://other/a"}, {"uri":5}, 7, {}]})"),
              ElementsAre("/home/me/my project", "/srv/a"));
}

TEST(ClientRoots, AreEmptyInAnAnswerOfAnotherShape) {
  for (const char* answer : {"", "[]", "{}", R"({"roots":{}})", R"({"roots":["file:///a"]})",
                             R"({"roots":[{"uri":"file:///a%0"}]})", R"({"roots":[{"uri":"/a"}]})",
                             R"({"roots":[{"uri":"file:///a%00b"}]})"})
    EXPECT_THAT(directories_in(answer), IsEmpty()) << answer;
}

}  // namespace
}  // namespace nutshell::mcp
