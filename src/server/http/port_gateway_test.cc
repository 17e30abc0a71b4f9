#include "server/http/port_gateway.h"

#include <gtest/gtest.h>

namespace nutshell::server {
namespace {

constexpr const char* kPath = "/v1/sandboxes/n0123/ports/8080/token";

TEST(PortGateway, FindsTicketAndTargetInAPath) {
  const http::Target target = *http::parse_target(std::string(kPath) + "/a%2Fb//c?x=1&y");
  const auto request = port_request_of(target);
  ASSERT_TRUE(request);
  EXPECT_EQ(request->ticket.sandbox, "n0123");
  EXPECT_EQ(request->ticket.port, 8080);
  EXPECT_EQ(request->ticket.token, "token");
  EXPECT_EQ(request->prefix, kPath);
  EXPECT_EQ(request->target, "/a%2Fb//c?x=1&y");
}

TEST(PortGateway, TellsAPathThatEndsWithTheToken) {
  const http::Target bare = *http::parse_target(kPath);
  const http::Target root = *http::parse_target(std::string(kPath) + "/");
  EXPECT_EQ(port_request_of(bare)->target, "");
  EXPECT_EQ(port_request_of(bare)->prefix, kPath);
  EXPECT_EQ(port_request_of(root)->target, "/");
}

TEST(PortGateway, RefusesPathsOfAnotherForm) {
  for (const char* path :
       {"/", "/v1/sandboxes/n0123/ports/8080", "/v1/sandboxes/n0123/ports/x/token",
        "/v1/sandboxes/n0123/ports/65536/token", "/v1/sandboxes/n0123/ports//token",
        "/v1/sandboxes/n0123/ports/-1/token", "/v1/sandboxes/n0123/exec/8080/token",
        "/v2/sandboxes/n0123/ports/8080/token", "/x/v1/sandboxes/n0123/ports/8080/token"}) {
    const http::Target target = *http::parse_target(path);
    EXPECT_FALSE(port_request_of(target)) << path;
  }
}

TEST(PortGateway, LeadsRedirectsOfTheServerToItsUrl) {
  const auto outside = [](const char* location) { return location_outside(location, 80, "/p"); };
  EXPECT_EQ(outside("/login?next=/"), "/p/login?next=/");
  EXPECT_EQ(outside("http://localhost:80/login"), "/p/login");
  EXPECT_EQ(outside("http://127.0.0.1:80"), "/p/");
  for (const char* other : {"https://example.org/", "//example.org/", "login", "?a=b", "",
                            "http://localhost:8080/", "http://localhost:80.example.org/"})
    EXPECT_EQ(outside(other), other);
}

}  // namespace
}  // namespace nutshell::server
