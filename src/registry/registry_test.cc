// Names, addresses and challenges; and a pull from a registry that this process serves.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/base64.h"
#include "base/file.h"
#include "base/scratch_fixture.h"
#include "base/sha256.h"
#include "base/socket.h"
#include "http/server.h"
#include "images/image_store.h"
#include "registry/account.h"
#include "registry/client.h"
#include "registry/pull.h"

namespace nutshell::registry {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

TEST(Reference, IsReadAsDockerReadsIt) {
  const auto plain = parse_reference("debian");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->host, "registry-1.docker.io");
  EXPECT_EQ(plain->registry, "");
  EXPECT_EQ(plain->repository + ":" + plain->version, "library/debian:latest");
  EXPECT_EQ(plain->local_name, "debian:latest");
  EXPECT_FALSE(plain->is_plain);
  const auto own = parse_reference("docker.io/me/app:1.0");
  EXPECT_EQ(own->repository + ":" + own->version, "me/app:1.0");
  const auto other = parse_reference("ghcr.io/me/app:x");
  EXPECT_EQ(other->registry, "ghcr.io");
  EXPECT_EQ(other->local_name, "ghcr.io/me/app:x");
  EXPECT_EQ(other->port, 443);
  const auto local = parse_reference("localhost:5000/app");
  EXPECT_TRUE(local->is_plain);
  EXPECT_EQ(local->port, 5000);
  EXPECT_FALSE(parse_reference("127.evil.example/app")->is_plain) << "a name, and no address";
  const std::string digest = "sha256:" + std::string(64, 'a');
  const auto exact = parse_reference("debian:12@" + digest);
  ASSERT_TRUE(exact);
  EXPECT_TRUE(exact->is_digest);
  EXPECT_EQ(exact->version, digest);
  EXPECT_EQ(exact->local_name, "debian:12");
}

TEST(Reference, RefusesWhatIsNoName) {
  for (const char* text :
       {"", "a:", ":a", "/a", "a/", "a//b", "a/../b", "A", "a b", "a@sha256:1", "a:b:c",
        "localhost:0/a", "localhost:x/a", "h.x:99999/a", "a\n", "evil.com\r\nX: y/a", "a:.x"})
    EXPECT_FALSE(parse_reference(text)) << text;
}

TEST(RegistryAddress, IsEncryptedUnlessItIsThisMachine) {
  const Address base{false, "r.example", 443, "/v2/"};
  EXPECT_EQ(parse_address("/x?y", base)->host, "r.example");
  const auto other = parse_address("https://cdn.example:8443/a?b=c#d", base);
  ASSERT_TRUE(other);
  EXPECT_EQ(other->host, "cdn.example");
  EXPECT_EQ(other->port, 8443);
  EXPECT_EQ(other->target, "/a?b=c");
  const Address own{true, "localhost", 5000, "/v2/"};
  EXPECT_TRUE(parse_address("http://127.0.0.1:5000/a", own));
  for (const char* text : {"http://127.0.0.1:5000/a", "http://[::1]/a", "http://localhost/a"})
    EXPECT_FALSE(parse_address(text, base)) << text;
  for (const char* text : {"http://127.evil.example/a", "http://localhost.evil.example/a"})
    EXPECT_FALSE(parse_address(text, own)) << text;
  for (const char* text : {"http://cdn.example/a", "ftp://x/a", "//x/a", "", "https://",
                           "https://user@x/a", "https://x/a b", "https://x:p/a"})
    EXPECT_FALSE(parse_address(text, base)) << text;
}

TEST(RegistryChallenge, NamesWhereATokenIsGiven) {
  const auto bearer =
      parse_challenge(R"(Bearer realm="https://a/t",service="s",scope="repository:x:pull")");
  ASSERT_TRUE(bearer);
  EXPECT_EQ(bearer->realm, "https://a/t");
  EXPECT_EQ(bearer->service, "s");
  EXPECT_TRUE(parse_challenge(R"(Basic realm="x")")->is_basic);
  for (const char* text : {"", "Bearer", "Bearer realm=\"x", "Digest realm=\"x\""})
    EXPECT_FALSE(parse_challenge(text)) << text;
}

TEST(RegistryAccount, IsTakenFromDockersConfiguration) {
  const ScratchDirectory scratch;
  EXPECT_EQ(find_account(scratch.path(), "r.example")->account.secret, "");
  const std::string auth = to_base64("me:se:cret");
  ASSERT_TRUE(write_file(
      scratch / "config.json",
      Json{{"auths", {{"r.example", {{"auth", auth}}}, {"t.example", {{"identitytoken", "x"}}}}}}
          .dump()));
  const auto found = find_account(scratch.path(), "r.example");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->account.user, "me");
  EXPECT_EQ(found->account.secret, "se:cret");
  EXPECT_EQ(find_account(scratch.path(), "t.example")->account.user, kTokenUser);
  EXPECT_EQ(find_account(scratch.path(), "")->account.secret, "");
}

// Serves what `files` has, by path, behind a token.
class PullTest : public testing::Test {
 protected:
  void SetUp() override {
    auto listener = http::listen_on_tcp("127.0.0.1", 0);
    ASSERT_TRUE(listener) << listener.error().message;
    sockaddr_in address{};
    socklen_t size = sizeof address;
    ASSERT_EQ(::getsockname(listener->get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    host_ = fmt::format("127.0.0.1:{}", ntohs(address.sin_port));
    std::vector<http::Endpoint> endpoints;
    endpoints.push_back({std::move(*listener)});
    auto server = http::Server::start(std::move(endpoints),
                                      [this](http::Exchange& exchange) { serve(exchange); }, {});
    ASSERT_TRUE(server) << server.error().message;
    server_ = std::move(*server);
    make_image();
  }

  void serve(http::Exchange& exchange) {
    const std::string path(exchange.target().path);
    const std::string authorization(exchange.headers().get("Authorization"));
    if (path == "/token") {
      const bool is_known = account_.empty() || authorization == "Basic " + to_base64(account_);
      (void)exchange.respond(is_known ? 200 : 401, {}, R"({"token":"t1"})");
      return;
    }
    if (path.starts_with("/storage/")) {  // as another host would: it must get no token
      seen_by_storage_ += authorization;
      const auto file = files_.find(path.substr(9));
      (void)exchange.respond(file == files_.end() ? 404 : 200, {},
                             file == files_.end() ? "" : file->second);
      return;
    }
    if (authorization != "Bearer t1") {
      (void)exchange.respond(
          401,
          {{"WWW-Authenticate",
            fmt::format(R"(Bearer realm="http://{}/token",service="s")", host_)}},
          "");
      return;
    }
    const std::string name = path.substr(path.rfind('/') + 1);
    if (path.find("/blobs/") != path.npos) {
      (void)exchange.respond(
          307, {{"Location", fmt::format("http://{}/storage/{}", storage_host(), name)}}, "");
      return;
    }
    if (is_dribbling_) return dribble(exchange);
    const auto file = files_.find(name);
    (void)exchange.respond(file == files_.end() ? 404 : 200, {},
                           file == files_.end() ? "" : file->second);
  }

  // Sends a byte now and then, until the client hangs up.
  static void dribble(http::Exchange& exchange) {
    if (!exchange.begin_stream(200, {})) return;
    while (exchange.write(" "))
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }

  // The same server under a name that is not that of the registry.
  [[nodiscard]] std::string storage_host() const { return "localhost" + host_.substr(9); }

  std::string put(const std::string& bytes) {
    const std::string digest = "sha256:" + sha256_hex(bytes);
    files_[digest] = bytes;
    return digest;
  }

  static Json entry(const std::string& type, const std::string& digest, std::size_t size) {
    return {{"mediaType", type}, {"digest", digest}, {"size", size}};
  }

  void make_image() {
    const std::string config = R"({"os":"linux"})";
    const Json manifest = {
        {"schemaVersion", 2},
        {"mediaType", "application/vnd.oci.image.manifest.v1+json"},
        {"config", entry("application/vnd.oci.image.config.v1+json", put(config), config.size())},
        {"layers", {entry("application/vnd.oci.image.layer.v1.tar", put(layer_), layer_.size())}}};
    manifest_ = manifest.dump();
    Json ours =
        entry("application/vnd.oci.image.manifest.v1+json", put(manifest_), manifest_.size());
    ours["platform"] = {{"os", "linux"}, {"architecture", images::own_architecture()}};
    Json other = ours;
    other["platform"] = {{"os", "linux"}, {"architecture", "s390x"}};
    files_["latest"] = Json{
        {"schemaVersion", 2},
        {"mediaType", "application/vnd.oci.image.index.v1+json"},
        {"manifests",
         {other, ours}}}.dump();
    files_["other"] = Json{
        {"schemaVersion", 2},
        {"mediaType", "application/vnd.oci.image.index.v1+json"},
        {"manifests",
         {other}}}.dump();
  }

  Result<> pulled(const std::string& name, const RegistryAccount& account = {}) {
    PullOrder order;
    order.reference = *parse_reference(host_ + "/" + name);
    order.account = account;
    order.most_bytes = 1U << 20U;
    order.patience = patience_;
    order.visit = [this](const PullProgress& progress) { last_ = progress; };
    std::filesystem::remove_all(scratch_ / "layout");
    return pull(order, scratch_ / "layout");
  }
  std::string refusal(const std::string& name, const RegistryAccount& account = {}) {
    const auto done = pulled(name, account);
    return done ? "pulled" : done.error().message;
  }

  ScratchDirectory scratch_;
  std::map<std::string, std::string> files_;
  std::string host_;
  std::string layer_ = "a tar archive, perhaps";
  std::string manifest_;
  std::string account_;
  Patience patience_;
  std::atomic<bool> is_dribbling_ = false;
  std::string seen_by_storage_;
  PullProgress last_;
  std::unique_ptr<http::Server> server_;  // last: it uses the others
};

TEST_F(PullTest, WritesALayoutOfTheManifestForThisMachine) {
  const auto done = pulled("app");
  ASSERT_TRUE(done) << done.error().message;
  const auto blobs = scratch_ / "layout" / "blobs" / "sha256";
  EXPECT_EQ(*read_file(blobs / sha256_hex(layer_)), layer_);
  EXPECT_EQ(*read_file(blobs / sha256_hex(manifest_)), manifest_);
  const Json index = Json::parse(*read_file(scratch_ / "layout" / "index.json"));
  EXPECT_EQ(index["manifests"][0]["digest"], "sha256:" + sha256_hex(manifest_));
  EXPECT_EQ(last_.layers_done, 1U);
  EXPECT_EQ(last_.bytes, layer_.size());
  EXPECT_EQ(seen_by_storage_, "") << "only the registry gets the token";
}

TEST_F(PullTest, TakesAManifestByItsDigest) {
  EXPECT_TRUE(pulled("app@sha256:" + sha256_hex(manifest_)));
  files_["sha256:" + sha256_hex(manifest_)] += " ";
  EXPECT_THAT(refusal("app@sha256:" + sha256_hex(manifest_)), HasSubstr("has another digest"));
  EXPECT_THAT(refusal("app"), HasSubstr("has another digest"));
}

TEST_F(PullTest, LogsInWithTheAccount) {
  account_ = "me:secret";
  EXPECT_TRUE(pulled("app", {"me", "secret"}));
  EXPECT_THAT(refusal("app"), HasSubstr("docker login"));
  const std::string wrong = refusal("app", {"me", "wrong-word"});
  EXPECT_THAT(wrong, HasSubstr("docker login"));
  EXPECT_EQ(wrong.find("wrong-word"), std::string::npos);
}

TEST_F(PullTest, SaysWhatIsMissing) {
  EXPECT_THAT(refusal("app:none"), HasSubstr("has no"));
  EXPECT_THAT(refusal("app:other"), HasSubstr("but for linux/s390x"));
  files_["sha256:" + sha256_hex(layer_)] += "more";
  EXPECT_THAT(refusal("app"), HasSubstr("sends more bytes"));
  files_["sha256:" + sha256_hex(layer_)] = "less";
  EXPECT_THAT(refusal("app"), HasSubstr("sends fewer bytes"));
  files_["latest"] = "[]";
  EXPECT_THAT(refusal("app"), HasSubstr("index"));
  files_["latest"].assign(5U << 20U, ' ');
  EXPECT_THAT(refusal("app"), HasSubstr("too long"));
}

TEST_F(PullTest, EndsWhenTheRegistryOnlyDribbles) {
  patience_ = {std::chrono::milliseconds(500), 1U << 30U};
  is_dribbling_ = true;
  EXPECT_THAT(refusal("app"), HasSubstr("bytes a second"));
}

TEST_F(PullTest, RefusesMoreThanItsLimit) {
  layer_.assign((1U << 20U) + 1, 'x');
  make_image();
  EXPECT_THAT(refusal("app"), HasSubstr("--max-size"));
}

}  // namespace
}  // namespace nutshell::registry
