#include "backends/docker/engine/engine_address.h"

#include <gtest/gtest.h>

#include <map>

#include "backends/docker/engine/engine_client.h"
#include "backends/docker/images/image_source.h"
#include "base/file.h"
#include "base/scratch_fixture.h"
#include "base/sha256.h"

namespace nutshell::docker {
namespace {

Variables from(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const char* name) {
    const auto found = values.find(name);
    return found == values.end() ? std::string() : found->second;
  };
}

TEST(EngineAddress, IsASocketOrAHostWithAPort) {
  EXPECT_EQ(parse_engine_address("unix:///run/x.sock")->socket, "/run/x.sock");
  const auto tcp = parse_engine_address("tcp://[::1]:2376");
  ASSERT_TRUE(tcp) << tcp.error().message;
  EXPECT_EQ(tcp->host, "::1");
  EXPECT_EQ(tcp->port, 2376);
  EXPECT_EQ(parse_engine_address("tcp://engine")->port, 2375);
}

TEST(EngineAddress, RefusesWhatItCannotReach) {
  for (const char* text : {"", "ssh://host", "unix://", "npipe:////./pipe/x"})
    EXPECT_EQ(parse_engine_address(text).error().code, ErrorCode::Unsupported) << text;
  for (const char* text : {"tcp://", "tcp://:1", "tcp://a:0", "tcp://a:99999", "tcp://a:b"})
    EXPECT_FALSE(parse_engine_address(text)) << text;
}

TEST(EngineAddress, SaysWhatToDoIfTheEngineDoesNotListen) {
  const auto docker = find_docker(from({{"DOCKER_HOST", "unix:///nowhere/engine.sock"}}));
  EXPECT_NE(advice_for(*docker).find("systemctl start docker"), std::string::npos);
  const auto podman = find_podman(from({{"CONTAINER_HOST", "unix:///nowhere/engine.sock"}}));
  EXPECT_NE(advice_for(*podman).find("podman.socket"), std::string::npos);
  const ScratchDirectory scratch;
  const auto there = scratch.path() / "engine.sock";
  ASSERT_TRUE(write_file(there, ""));
  EXPECT_EQ(advice_for(*find_docker(from({{"DOCKER_HOST", "unix://" + there.native()}}))), "");
  EXPECT_EQ(advice_for(*find_docker(from({{"DOCKER_HOST", "tcp://far"}}))), "");
}

TEST(EngineAddress, VariableWinsOverContext) {
  const ScratchDirectory scratch;
  ASSERT_TRUE(write_file(scratch.path() / "config.json", R"({"currentContext":"far"})"));
  const auto meta = scratch.path() / "contexts" / "meta" / sha256_hex("far");
  std::filesystem::create_directories(meta);
  ASSERT_TRUE(
      write_file(meta / "meta.json", R"({"Endpoints":{"docker":{"Host":"unix:///far.sock"}}})"));
  const std::string place = scratch.path().native();
  EXPECT_EQ(find_docker(from({{"DOCKER_CONFIG", place}}))->socket, "/far.sock");
  EXPECT_EQ(find_docker(from({{"DOCKER_CONFIG", place}, {"DOCKER_HOST", "unix:///near"}}))->socket,
            "/near");
  EXPECT_EQ(find_docker(from({{"DOCKER_CONFIG", place}, {"DOCKER_CONTEXT", "default"}}))->socket,
            "/var/run/docker.sock");
  EXPECT_EQ(find_docker(from({{"DOCKER_CONFIG", place}, {"DOCKER_CONTEXT", "gone"}})).error().code,
            ErrorCode::NotFound);
}

TEST(EngineAddress, VerifiedEngineHasTlsFiles) {
  const auto found = find_docker(from({{"DOCKER_HOST", "tcp://engine"},
                                       {"DOCKER_TLS_VERIFY", "1"},
                                       {"DOCKER_CERT_PATH", "/certificates"}}));
  ASSERT_TRUE(found && found->tls);
  EXPECT_EQ(found->port, 2376);
  EXPECT_EQ(found->tls->key, "/certificates/key.pem");
}

TEST(RegistryLogin, ComesFromTheConfigurationOfThatRegistry) {
  const ScratchDirectory scratch;
  ASSERT_TRUE(write_file(scratch.path() / "config.json",
                         R"({"auths":{"registry.example:5000":{"auth":"dXNlcjpwYXNz"}}})"));
  const Variables variables = from({{"DOCKER_CONFIG", scratch.path().native()}});
  // {"password":"pass","serveraddress":"registry.example:5000","username":"user"}
  EXPECT_EQ(*registry_login("registry.example:5000/a/b", variables),
            "eyJwYXNzd29yZCI6InBhc3MiLCJzZXJ2ZXJhZGRyZXNzIjoicmVnaXN0cnkuZXhhbXBsZTo1MDAwIiwidXNlcm"
            "5hbWUiOiJ1c2VyIn0=");
  EXPECT_EQ(*registry_login("other.example/a", variables), "");
  EXPECT_EQ(*registry_login("debian", variables), "");
}

TEST(ImageName, HasATagAndNothingElseInIt) {
  EXPECT_EQ(with_tag("debian"), "debian:latest");
  EXPECT_EQ(with_tag("host:5000/debian"), "host:5000/debian:latest");
  EXPECT_EQ(with_tag("debian:12"), "debian:12");
  for (const char* name : {"", "--privileged", "a b", "a?b", "../x", "a\nb", "a%2f"})
    EXPECT_FALSE(check_image_name(name)) << name;
}

TEST(ApiVersion, IsComparedByItsNumbers) {
  EXPECT_TRUE(is_older("1.9", "1.41"));
  EXPECT_FALSE(is_older("1.41", "1.41"));
  EXPECT_TRUE(is_older("", "1.41"));
}

}  // namespace
}  // namespace nutshell::docker
