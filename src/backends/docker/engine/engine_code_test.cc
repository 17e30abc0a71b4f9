#include "backends/docker/engine/engine_code.h"

#include <gtest/gtest.h>

namespace nutshell::docker {
namespace {

TEST(EngineCode, ComesFromTheStatus) {
  EXPECT_EQ(engine_code(404, "/v1.41/containers/x", "No such container: x"), ErrorCode::NotFound);
  EXPECT_EQ(engine_code(409, "/v1.41/containers/x", "in progress"), ErrorCode::Conflict);
  EXPECT_EQ(engine_code(400, "/v1.41/volumes/create", "invalid"), ErrorCode::InvalidArgument);
  EXPECT_EQ(engine_code(500, "/v1.41/info", "broken"), ErrorCode::Unavailable);
}

TEST(EngineCode, ComesFromTheWordsWhereTheStatusSaysNothing) {
  const char* const start = "/v1.41/containers/x/start";
  const char* const missing = "exec: \"/.nutshell/bin/nutshell-init\": stat: no such file";
  EXPECT_EQ(engine_code(400, start, missing), ErrorCode::Expired);
  EXPECT_EQ(engine_code(500, "/v1.41/containers/x", "container x is not running"),
            ErrorCode::Conflict);
  EXPECT_EQ(engine_code(0, "/images/create", "unauthorized: authentication required"),
            ErrorCode::PermissionDenied);
}

TEST(EngineCode, DependsOnTheCallNotOnlyOnTheText) {
  EXPECT_EQ(engine_code(500, "/v1.41/containers/x/start", "mount: permission denied"),
            ErrorCode::Unavailable);
  EXPECT_EQ(engine_code(404, "/v1.41/images/create", "manifest unknown"), ErrorCode::NotFound);
}

}  // namespace
}  // namespace nutshell::docker
