// Tables, JSON and installs.
#include <gtest/gtest.h>

#include "compaction/parsers/docker_build_parser.h"
#include "compaction/parsers/given_output.h"
#include "compaction/parsers/install_parser.h"
#include "compaction/parsers/json_parser.h"
#include "compaction/parsers/table_parser.h"

namespace nutshell::compaction {
namespace {

using Texts = std::vector<std::string>;

Texts kept_by(const Parser& parser, std::string_view command, const std::string& output) {
  const GivenOutput given(command, 0, output);
  if (!given.is_recognised_by(parser)) return {"not recognised"};
  const auto facts = given.parsed_by(parser);
  return facts ? facts->kept : Texts{"refused"};
}

TEST(TableParser, ColumnThatIsTheSameIsSaidOnce) {
  EXPECT_EQ(kept_by(table_parser(), "kubectl get pods",
                    R"(NAME    READY   STATUS             RESTARTS   AGE
api-1   1/1     Running            0          5d
api-2   0/1     CrashLoopBackOff   0          5d
db-0    1/1     Running            0          5d
)"),
            (Texts{"all: RESTARTS=0, AGE=5d", "NAME|READY|STATUS", "api-1|1/1|Running",
                   "api-2|0/1|CrashLoopBackOff", "db-0|1/1|Running"}));
}

TEST(TableParser, ContainersKeepNameImageStatusAndPorts) {
  const auto kept = kept_by(
      table_parser(), "docker ps",
      R"(CONTAINER ID   IMAGE         COMMAND                  CREATED       STATUS       PORTS                                       NAMES
3f2a1b4c5d6e   postgres:15   "docker-entrypoint.s…"   2 hours ago   Up 2 hours   0.0.0.0:5432->5432/tcp, :::5432->5432/tcp   db
a1b2c3d4e5f6   redis:7       "docker-entrypoint.s…"   2 hours ago   Up 1 hour                                                cache
0f1e2d3c4b5a   nginx:1.25    "/docker-entrypoint.…"   2 hours ago   Exited (1)                                               web
)");
  EXPECT_EQ(kept.front(), "IMAGE|STATUS|PORTS|NAMES");
  EXPECT_EQ(kept[1], "postgres:15|Up 2 hours|0.0.0.0:5432->5432/tcp|db");
}

TEST(TableParser, RowThatDoesNotFitItsColumnsIsNotCut) {
  EXPECT_EQ(
      kept_by(table_parser(), "x", "NAME   AGE   STATE\na-very-long-name 1 ok\nb 2 ok\nc 3 ok\n"),
      (Texts{"not recognised"}));
}

TEST(TableParser, CellWithTheMarkBetweenCellsIsNotJoined) {
  EXPECT_EQ(
      kept_by(table_parser(), "x",
              "NAME   STATE    AGE\na|b    ok       1\nb      ok       2\nc      ok       3\n"),
      (Texts{"not recognised"}));
}

TEST(JsonParser, LayoutGoesAndValuesStay) {
  EXPECT_EQ(kept_by(json_parser(), "cat x.json", R"({
  "name": "a  b",
  "list": [1, 2.5e3, true, null],
  "deep": {"x": "\" {"}
}
)"),
            (Texts{"name: a  b", "list: [1,2.5e3,true,null]", R"(deep: x="\" {")"}));
}

TEST(JsonParser, OtherTextIsRefused) {
  for (const char* text :
       {"[1, 2}", "{\"a\": \"open\n\"}", "[INFO] x", "{} trailing text", "{\"a\" 1"})
    EXPECT_EQ(kept_by(json_parser(), "x", text), (Texts{"refused"})) << text;
}

TEST(InstallParser, PackagesStayAndFetchingGoes) {
  const GivenOutput given("apt-get install -y jq", 0, R"(Reading package lists...
The following NEW packages will be installed:
  jq libjq1
Get:1 http://mirror bookworm/main amd64 jq amd64 1.6-2 [64.9 kB]
Selecting previously unselected package jq.
Preparing to unpack .../jq_1.6-2_amd64.deb ...
Unpacking jq (1.6-2) ...
Setting up libjq1:amd64 (1.6-2) ...
Setting up jq (1.6-2) ...
W: some warning
)");
  const auto facts = given.parsed_by(install_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->kept, (Texts{"The following NEW packages will be installed:", "  jq libjq1",
                                "W: some warning", "set up 2: libjq1:amd64 1.6-2, jq 1.6-2"}));
}

TEST(InstallParser, ErrorsAreNeverNoise) {
  const GivenOutput given("pip install x", 1,
                          "Collecting x\nDownloading x-1.tar.gz (1 kB)\n"
                          "Building wheel for x: finished with status 'error'\nERROR: no x\n");
  const auto facts = given.parsed_by(install_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->kept.front(), "Building wheel for x: finished with status 'error'");
}

TEST(DockerBuildParser, FailingStepKeepsWhatItPrinted) {
  const GivenOutput given("docker build .", 1,
                          R"(#1 [internal] load build definition from Dockerfile
#1 transferring dockerfile: 120B done
#1 DONE 0.0s
#2 [1/2] FROM alpine
#2 CACHED
#3 [2/2] RUN make
#3 0.120 cc -c a.c
#3 0.340 a.c:1:1: error: nope
#3 ERROR: process "/bin/sh -c make" did not complete successfully: exit code: 2
------
ERROR: failed to solve
)");
  ASSERT_TRUE(given.is_recognised_by(docker_build_parser()));
  const auto facts = given.parsed_by(docker_build_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->kept[1], "#2 [1/2] FROM alpine CACHED");
  EXPECT_EQ(facts->kept[3], "  0.120 cc -c a.c");
  EXPECT_EQ(facts->kept[4], "  0.340 a.c:1:1: error: nope");
  EXPECT_EQ(facts->kept.back(), "ERROR: failed to solve");
}

TEST(DockerBuildParser, NameOfWhatWasMadeStays) {
  EXPECT_EQ(
      kept_by(docker_build_parser(), "docker build -t app:1 .",
              R"(#1 [1/1] RUN make
#1 0.120 cc -c a.c
#1 DONE 0.2s

#2 exporting to image
#2 exporting layers 0.1s done
#2 writing image sha256:738b4ded
#2 writing image sha256:738b4ded done
#2 naming to docker.io/library/app:1 done
#2 DONE 0.1s
)"),
      (Texts{"#1 [1/1] RUN make DONE 0.2s", "#2 exporting to image DONE 0.1s",
             "  writing image sha256:738b4ded done", "  naming to docker.io/library/app:1 done"}));
}

}  // namespace
}  // namespace nutshell::compaction
