#include "compaction/user_renderer.h"

#include <gtest/gtest.h>

#include "compaction/compactor.h"

namespace nutshell::compaction {
namespace {

constexpr std::string_view kPlan = R"(
name = "plan"
drop = ['^\s*$', 'Refreshing state']
head = 3
tail = 1
on_empty = "nothing planned"

[match]
command = ["terraform", "plan"]

[[replace]]
pattern = '\(known after apply\)'
with = '?'

[[group]]
pattern = '^# (\S+) will be created'
label = "create"

[[count]]
pattern = 'will be created'
word = "to create"

[[tests]]
name = "folds"
command = "terraform plan"
input = """
Refreshing state... a
# a.b will be created
# a.c will be created
id = (known after apply)
"""
expect = """
create ×2: a.b, a.c
id = ?"""

[[tests]]
name = "says when nothing is left"
input = "Refreshing state... a"
expect = "nothing planned"
)";

std::string error_of(std::string_view toml) {
  const auto renderer = UserRenderer::parse(toml, "x.toml");
  return renderer ? "" : renderer.error().message;
}

TEST(UserRenderer, OwnTestsPass) {
  EXPECT_EQ(error_of(kPlan), "");
}

TEST(UserRenderer, HeadingsBlocksSummariesAndFolds) {
  EXPECT_EQ(error_of(R"(
name = "steps"
drop = ['^ok ']
heading = ['^STEP ']
summary = ['^Plan: ']
fold = true
head = 1
[match]
command = ["steps"]
[[block]]
start = '^Error'
until = '^end'
[[tests]]
name = "all of them"
input = """
STEP nothing is left of
ok a
STEP folds
changed host_1 by hand
changed host_2 by hand
changed host_3 by hand
changed host_4 by hand
Plan: 4 to change
other
Error: x
ok inside the block
end
STEP last
"""
expect = """
STEP folds
Plan: 4 to change
Error: x
ok inside the block
end"""
)"),
            "");
  EXPECT_NE(error_of("name = 'x'\nfold = 3\n[match]\ncommand = ['x']\n")
                .find("'fold' is not true or false"),
            std::string::npos);
}

TEST(UserRenderer, FailingTestRefusesTheFile) {
  std::string toml(kPlan);
  toml.replace(toml.find("create ×2"), 9, "create ×3");
  EXPECT_NE(error_of(toml).find("test 'folds' gives"), std::string::npos) << error_of(toml);
}

TEST(UserRenderer, FileWithoutTestsIsRefused) {
  EXPECT_EQ(error_of("name = 'x'\n[match]\ncommand = ['x']\n"),
            "x.toml: no [[tests]]: a renderer without a test is not used");
}

TEST(UserRenderer, MistakesAreNamed) {
  EXPECT_NE(error_of("name = 'x'\nkeeep = []\n").find("unknown key 'keeep'"), std::string::npos);
  EXPECT_NE(error_of("name = 'x'\nkeep = ['(']\n[match]\ncommand=['x']\n").find("pattern '('"),
            std::string::npos);
  EXPECT_NE(error_of("name = ").find("line 1"), std::string::npos);
}

TEST(UserRenderer, StatusAndLostErrorsStayTheEngines) {
  std::vector<UserRenderer> renderers;
  renderers.push_back(std::move(*UserRenderer::parse(kPlan, "x.toml")));
  Captured captured;
  captured.command = "terraform plan";
  captured.ending.outcome = Outcome::Exited;
  captured.ending.exit_code = 1;
  captured.recall_id = "o1a2b";
  std::string output;
  for (int line = 0; line < 200; ++line)
    output += "Refreshing state... thing " + std::to_string(line) + "\n";
  output += "Error: Refreshing state broke\n";
  captured.output = output;
  RenderOptions options;
  options.renderers = renderers;
  const auto rendering = render(captured, options);
  EXPECT_TRUE(rendering.text.starts_with("exit 1")) << rendering.text;
  EXPECT_NE(rendering.text.find("Error: Refreshing state broke"), std::string::npos);
}

}  // namespace
}  // namespace nutshell::compaction
