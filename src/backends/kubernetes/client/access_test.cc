#include "backends/kubernetes/client/access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/base64.h"
#include "base/file.h"
#include "base/scratch_fixture.h"

namespace nutshell::kubernetes {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

class AccessTest : public testing::Test {
 protected:
  std::filesystem::path write(const std::string& name, const std::string& text) {
    EXPECT_TRUE(write_file(scratch_ / name, text));
    return scratch_ / name;
  }

  // A kubeconfig of one cluster and one user with these fields.
  std::filesystem::path config(const std::string& cluster, const std::string& user) {
    return write("config",
                 "current-context: main\n"
                 "contexts: [{name: main, context: {cluster: c, user: u, namespace: agents}}]\n"
                 "clusters: [{name: c, cluster: {server: 'https://api.test:6443'" +
                     cluster + "}}]\nusers: [{name: u, user: {" + user + "}}]\n");
  }

  ScratchDirectory scratch_;
};

TEST_F(AccessTest, ReadsTheCurrentContext) {
  write("ca.pem", "AUTHORITY");
  const auto access =
      read_kubeconfig({config(", certificate-authority: ca.pem", "token: secret")}, "");
  ASSERT_TRUE(access) << access.error().message;
  EXPECT_EQ(access->context, "main");
  EXPECT_EQ(access->server.host, "api.test");
  EXPECT_EQ(access->server.port, 6443);
  EXPECT_EQ(access->server_name, "api.test");
  EXPECT_EQ(access->authority, "AUTHORITY");
  EXPECT_EQ(access->name_space, "agents");
  EXPECT_EQ(access->token, "secret");
}

TEST_F(AccessTest, ReadsCertificatesFromDataAndFromFiles) {
  const std::string data = to_base64("PEM");
  auto access =
      read_kubeconfig({config(", tls-server-name: kubernetes",
                              "client-certificate-data: " + data + ", client-key-data: " + data)},
                      "");
  ASSERT_TRUE(access) << access.error().message;
  EXPECT_EQ(access->certificate, "PEM");
  EXPECT_EQ(access->key, "PEM");
  EXPECT_EQ(access->server_name, "kubernetes");
  write("key.pem", "KEY");
  access = read_kubeconfig(
      {config("", "client-certificate-data: " + data + ", client-key: key.pem")}, "");
  ASSERT_TRUE(access) << access.error().message;
  EXPECT_EQ(access->key, "KEY");
}

TEST_F(AccessTest, ReadsACredentialPlugin) {
  const auto access = read_kubeconfig(
      {config("",
              "exec: {apiVersion: client.authentication.k8s.io/v1, command: ./get-token, "
              "args: [--cluster, c], env: [{name: PROFILE, value: p}], "
              "provideClusterInfo: true, installHint: install it}")},
      "");
  ASSERT_TRUE(access) << access.error().message;
  ASSERT_TRUE(access->plugin);
  EXPECT_THAT(access->plugin->command,
              ElementsAre((scratch_ / "./get-token").native(), "--cluster", "c"));
  EXPECT_THAT(access->plugin->environment, ElementsAre(Pair("PROFILE", "p")));
  EXPECT_TRUE(access->plugin->wants_cluster);
  EXPECT_EQ(access->plugin->install_hint, "install it");
}

TEST_F(AccessTest, TheFirstFileThatSaysSomethingIsRight) {
  const auto first = write("first",
                           "current-context: other\n"
                           "users: [{name: u, user: {token: first}}]\n");
  const auto second =
      write("second",
            "current-context: main\n"
            "contexts:\n"
            "- {name: main, context: {cluster: c, user: u}}\n"
            "- {name: other, context: {cluster: d, user: u}}\n"
            "clusters: [{name: c, cluster: {server: 'https://c'}}, {name: d, cluster: {server: "
            "'https://d/prefix/'}}]\n"
            "users: [{name: u, user: {token: second}}]\n");
  const std::vector<std::filesystem::path> files = {first, scratch_ / "missing", second};
  const auto current = read_kubeconfig(files, "");
  ASSERT_TRUE(current) << current.error().message;
  EXPECT_EQ(current->server.host, "d");
  EXPECT_EQ(current->server.port, 443);
  EXPECT_EQ(current->server.prefix, "/prefix");
  EXPECT_EQ(current->token, "first");
  EXPECT_EQ(current->name_space, "default");
  EXPECT_EQ(read_kubeconfig(files, "main").value().server.host, "c");
  const auto none = read_kubeconfig(files, "none");
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("no context 'none'"));
}

TEST_F(AccessTest, RefusesByNameWhatItDoesNotDo) {
  const std::vector<std::array<std::string, 3>> cases = {
      {", insecure-skip-tls-verify: true", "token: t", "insecure-skip-tls-verify"},
      {", proxy-url: 'http://p'", "token: t", "proxy-url"},
      {"", "username: u", "username"},
      {"", "auth-provider: {name: gcp}", "auth-provider"},
      {"", "token: t, as: root", "as:"},
      {"", "client-certificate-data: UEVN", "belong together"},
      {"", "client-certificate-data: '!!!', client-key-data: UEVN", "not base64"},
      {"", "client-certificate: nothing.pem, client-key: nothing.pem", "nothing.pem"},
      {"", "exec: {apiVersion: x, command: c}", "apiVersion"},
      {"", "exec: {apiVersion: client.authentication.k8s.io/v1}", "no command"},
      {"",
       "exec: {apiVersion: client.authentication.k8s.io/v1, command: c, interactiveMode: Always}",
       "interactiveMode"},
  };
  for (const auto& [cluster, user, why] : cases) {
    const auto access = read_kubeconfig({config(cluster, user)}, "");
    ASSERT_FALSE(access) << why;
    EXPECT_THAT(access.error().message, HasSubstr(why));
  }
  EXPECT_TRUE(read_kubeconfig({config(", insecure-skip-tls-verify: false", "token: t")}, ""));
}

TEST_F(AccessTest, ReadsTheServiceAccountOfAPod) {
  write("ca.crt", "AUTHORITY");
  write("namespace", "agents\n");
  const auto access = read_service_account({"10.96.0.1", "443", scratch_.path()});
  ASSERT_TRUE(access) << access.error().message;
  EXPECT_EQ(access->server.host, "10.96.0.1");
  EXPECT_EQ(access->name_space, "agents");
  EXPECT_EQ(access->token_file, scratch_ / "token");
  EXPECT_EQ(read_service_account({"fd00::1", "443", scratch_.path()}).value().server.host,
            "fd00::1");
}

TEST(ServerAddress, IsAnHttpsUrl) {
  EXPECT_EQ(parse_server("https://[::1]:6443").value().host, "::1");
  EXPECT_EQ(parse_server("https://a.b/k8s/c/").value().prefix, "/k8s/c");
  for (const char* url : {"", "a.b", "http://a.b", "https://", "https://:1", "https://a:0",
                          "https://a:65536", "https://a:1x", "https://u@a", "https://a/b?c",
                          "https://[::1", "https://[::1]x", "https://a b"})
    EXPECT_FALSE(parse_server(url)) << url;
}

}  // namespace
}  // namespace nutshell::kubernetes
