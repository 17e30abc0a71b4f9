// The client against a real cluster, which scripts/test --kubernetes starts. NUTSHELL_KUBECONFIG
// names its kubeconfig and NUTSHELL_CLUSTER the script that controls it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <thread>

#include "backends/kubernetes/client/api_client.h"
#include "backends/kubernetes/client/pod_stream.h"
#include "backends/kubernetes/client/watch.h"
#include "backends/kubernetes/object_names.h"
#include "backends/kubernetes/pod_standard_fixture.h"
#include "backends/kubernetes/quantity.h"
#include "base/environment.h"
#include "base/file.h"
#include "base/pipe.h"
#include "base/random_id.h"
#include "base/spawn.h"
#include "core/json_members.h"

namespace nutshell::kubernetes {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr const char* kImage = "localhost/busybox:1";

Deadline soon() {
  return Deadline::in(300s);
}

ApiClient client_of(const Access& access) {
  return {endpoint_of(access), make_credentials(access)};
}

Access access_of(const std::string& suffix = {}) {
  auto access = read_kubeconfig({environment_variable("NUTSHELL_KUBECONFIG") + suffix}, "");
  EXPECT_TRUE(access) << access.error().message;
  return access ? *access : Access();
}

// Follows one pod until its phase is the wanted one.
class AwaitPhase : public WatchVisitor {
 public:
  AwaitPhase(std::string name, std::string phase)
      : name_(std::move(name)), wanted_(std::move(phase)) {}
  void reset(const Json& objects) override {
    bool is_there = false;
    for (const Json& object : objects) {
      changed(object);
      is_there = is_there || object.at("metadata").at("name") == name_;
    }
    if (wanted_.empty()) is_done_ = !is_there;
  }
  void changed(const Json& object) override {
    if (object.at("metadata").at("name") == name_)
      is_done_ = text_of(object.at("status"), "phase") == wanted_;
  }
  void removed(const Json& object) override {
    if (wanted_.empty() && object.at("metadata").at("name") == name_) is_done_ = true;
  }
  [[nodiscard]] bool is_done() const override { return is_done_; }

 private:
  std::string name_;
  std::string wanted_;  // empty: removed
  bool is_done_ = false;
};

// Runs the script of the cluster; returns what it printed.
std::string cluster(const std::vector<std::string>& words) {
  auto pipe = make_pipe();
  Command command{.arguments = {environment_variable("NUTSHELL_CLUSTER")},
                  .output = pipe->write.get()};
  command.arguments.insert(command.arguments.end(), words.begin(), words.end());
  auto child = spawn(command);
  EXPECT_TRUE(child) << child.error().message;
  pipe->write.reset();
  std::string text = read_all(pipe->read.get(), 1U << 20U).value_or("");
  EXPECT_EQ(child->wait(Deadline::in(300s)).value(), 0) << text;
  return text;
}

Json broken_pod(const PodBreach& breach) {
  Json pod = Json::parse(kRestrictedPod);
  const Json::json_pointer at(breach.pointer);
  if (breach.value.empty()) {
    pod[at.parent_pointer()].erase(at.back());
  } else {
    pod[at] = Json::parse(breach.value);
  }
  return pod;
}

// A namespace of the test's own, under the restricted standard.
class ClusterTest : public testing::Test {
 protected:
  void SetUp() override {
    const Json space = {
        {"apiVersion", "v1"},
        {"kind", "Namespace"},
        {"metadata",
         {{"name", space_}, {"labels", {{"pod-security.kubernetes.io/enforce", "restricted"}}}}}};
    const auto made = api_.create("/api/v1/namespaces", space);
    ASSERT_TRUE(made) << made.error().message;
    // The controller makes it a moment later, and no pod is admitted before.
    const Deadline deadline = soon();
    while (!api_.call({.path = core_path(space_, "serviceaccounts", "default")})) {
      ASSERT_FALSE(deadline.has_passed());
      std::this_thread::sleep_for(20ms);
    }
  }
  void TearDown() override {
    EXPECT_TRUE(api_.call({.method = "DELETE",
                           .path = "/api/v1/namespaces/" + space_,
                           .body = R"({"propagationPolicy": "Background"})"}));
  }

  [[nodiscard]] static Json pod(const std::string& name, const std::vector<std::string>& command) {
    return {
        {"apiVersion", "v1"},
        {"kind", "Pod"},
        {"metadata", {{"name", name}}},
        {"spec",
         {{"restartPolicy", "Never"},
          {"automountServiceAccountToken", false},
          {"terminationGracePeriodSeconds", 0},
          {"securityContext",
           {{"runAsNonRoot", true},
            {"runAsUser", 1000},
            {"seccompProfile", {{"type", "RuntimeDefault"}}}}},
          {"containers",
           {{{"name", "main"},
             {"image", kImage},
             {"command", command},
             {"resources",
              {{"limits", {{"memory", memory_quantity(64U << 20U)}, {"cpu", cpu_quantity(250)}}}}},
             {"securityContext",
              {{"allowPrivilegeEscalation", false},
               {"readOnlyRootFilesystem", true},
               {"capabilities", {{"drop", {"ALL"}}}}}}}}}}}};
  }
  void run(const std::string& name, const std::vector<std::string>& command = {"sleep", "3600"}) {
    const auto made = api_.create(pods(), pod(name, command));
    ASSERT_TRUE(made) << made.error().message;
    AwaitPhase running(name, "Running");
    Watch watch(api_, pods());
    const auto followed = watch.follow(running, soon());
    ASSERT_TRUE(followed) << followed.error().message;
    ASSERT_TRUE(*followed);
  }
  [[nodiscard]] std::string pods() const { return core_path(space_, "pods"); }

  Result<std::unique_ptr<ChannelTransport>> exec(const std::string& name,
                                                 const std::vector<std::string>& command) {
    return open_exec(api_, {{space_, name}, "main", command}, soon());
  }
  static std::string read_to_end(http::Transport& transport) {
    std::string all;
    std::string space(64U << 10U, '\0');
    for (;;) {
      const auto count = transport.read(space.data(), space.size(), soon());
      if (!count) return all + "<" + count.error().message + ">";
      if (*count == 0) return all;
      all.append(space, 0, *count);
    }
  }

  Access access_ = access_of();
  ApiClient api_ = client_of(access_);
  std::string space_ = "nutshell-test-" + random_id(12);
};

TEST_F(ClusterTest, EveryKindOfCredentialIsKnown) {
  const std::string path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
  const std::string body =
      R"({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"})";
  const auto name_of = [&](const Access& access) -> std::string {
    auto answered = client_of(access).call({.method = "POST", .path = path, .body = body});
    return answered ? answered->at("status").at("userInfo").at("username").get<std::string>()
                    : answered.error().message;
  };
  EXPECT_EQ(name_of(access_), "admin");
  EXPECT_EQ(name_of(access_of("-certificate")), "admin-by-certificate");
  Access wrong = access_;
  wrong.token = "wrong";
  EXPECT_THAT(name_of(wrong), HasSubstr("(401)"));
  Access untrusted = access_;
  untrusted.server_name = "another.test";
  EXPECT_THAT(name_of(untrusted), HasSubstr("TLS"));
}

TEST_F(ClusterTest, AServiceAccountMayOnlyWhatItsRoleSays) {
  const auto token = api_.call({.method = "POST",
                                .path = core_path(space_, "serviceaccounts", "default") + "/token",
                                .body = R"({"spec": {"expirationSeconds": 600}})"});
  ASSERT_TRUE(token) << token.error().message;
  Access access = access_;
  access.token = token->at("status").at("token");
  const auto refused = client_of(access).call({.path = pods()});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::PermissionDenied);
  EXPECT_THAT(refused.error().message, HasSubstr("cannot list resource \"pods\""));
}

TEST_F(ClusterTest, NamesAndQuantitiesComeBackAsTheyWere) {
  for (const std::string& id : {std::string("Session 42/ü"), std::string(400, 'L'),
                                std::string("\xff\xfe raw"), std::string("日本語")}) {
    const Marks marks = marks_of(id);
    Json object = pod(object_name(id), {"sleep", "1"});
    object["metadata"]["labels"] = marks.labels;
    object["metadata"]["annotations"] = marks.annotations;
    object["spec"]["nodeName"] = "no-such-node";  // it is stored and never runs
    const auto made = api_.create(pods(), object);
    ASSERT_TRUE(made) << made.error().message;
    const auto found =
        list_objects(api_, pods() + "?labelSelector=" + http::percent_encode(selector_of(id)));
    ASSERT_TRUE(found) << found.error().message;
    ASSERT_EQ(found->objects->size(), 1U);
    const Json& metadata = found->objects->front().at("metadata");
    EXPECT_EQ(id_of({metadata.at("labels").get<Texts>(), metadata.at("annotations").get<Texts>()}),
              id);
    const Json& limits =
        found->objects->front().at("spec").at("containers").front().at("resources").at("limits");
    EXPECT_EQ(parse_memory_quantity(limits.at("memory").get<std::string>()).value(), 64U << 20U);
    EXPECT_EQ(parse_cpu_quantity(limits.at("cpu").get<std::string>()).value(), 250U);
  }
}

TEST_F(ClusterTest, OneOfManyMakesAName) {
  std::atomic<int> made = 0;
  std::atomic<int> late = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      Json object = pod("one", {"sleep", "1"});
      object["spec"]["nodeName"] = "no-such-node";
      const auto one = client_of(access_).create(pods(), object);
      if (one) ++made;
      if (!one && one.error().code == ErrorCode::AlreadyExists) ++late;
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(made, 1);
  EXPECT_EQ(late, 7);
}

TEST_F(ClusterTest, UpdatesAtOnceAreAllKept) {
  const std::string path = core_path(space_, "configmaps", "count");
  ASSERT_TRUE(api_.create(core_path(space_, "configmaps"),
                          {{"metadata", {{"name", "count"}}}, {"data", {{"count", "0"}}}}));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      ApiClient api = client_of(access_);
      for (int k = 0; k < 5; ++k) {
        const auto updated = api.update(path, [](Json& object) -> Result<> {
          const int count = std::stoi(object.at("data").at("count").get<std::string>());
          object["data"]["count"] = std::to_string(count + 1);
          return {};
        });
        EXPECT_TRUE(updated) << updated.error().message;
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(api_.call({.path = path})->at("data").at("count"), "20");
}

TEST_F(ClusterTest, CommandsRunInAPod) {
  run("p");
  auto stream = exec("p", {"sh", "-c", "cat; echo more >&2; exit 7"});
  ASSERT_TRUE(stream) << stream.error().message;
  ASSERT_TRUE((*stream)->write("hello", soon()));
  (*stream)->end_writing();
  EXPECT_EQ(read_to_end(**stream), "hello");
  EXPECT_EQ((*stream)->exit_code().value(), 7);
  EXPECT_EQ((*stream)->error_text(), "more\n");
  auto success = exec("p", {"true"});
  ASSERT_TRUE(success);
  EXPECT_EQ(read_to_end(**success), "");
  EXPECT_EQ((*success)->exit_code().value(), 0);
  auto missing = exec("p", {"no-such-program"});
  ASSERT_TRUE(missing);
  (void)read_to_end(**missing);
  EXPECT_FALSE((*missing)->exit_code());
  EXPECT_EQ(exec("no-such-pod", {"true"}).error().code, ErrorCode::NotFound);
}

TEST_F(ClusterTest, AStreamCarriesMegabytesBothWays) {
  run("p");
  auto stream = exec("p", {"cat"});
  ASSERT_TRUE(stream) << stream.error().message;
  constexpr std::size_t kSize = 16U << 20U;
  std::string sent(kSize, '\0');
  for (std::size_t i = 0; i < kSize; ++i)
    sent[i] = static_cast<char>(i * 7 + i / 251);
  std::string got;
  std::string space(64U << 10U, '\0');
  std::size_t written = 0;
  while (got.size() < kSize) {
    short events = POLLIN;
    if (written < kSize) {
      const auto step = (*stream)->write_some(std::string_view(sent).substr(written));
      ASSERT_TRUE(step) << step.error().message;
      written += step->bytes;
      if (written == kSize) (*stream)->end_writing();
      if (written < kSize) events |= POLLOUT;
    }
    const auto step = (*stream)->read_some(space.data(), space.size());
    ASSERT_TRUE(step) << step.error().message;
    ASSERT_NE(step->progress, http::Transport::Progress::End);
    got.append(space, 0, step->bytes);
    if (step->bytes > 0) continue;
    ASSERT_TRUE(wait_for((*stream)->descriptor(), events, soon()).value());
  }
  EXPECT_TRUE(got == sent);
  EXPECT_EQ(read_to_end(**stream), "");
  EXPECT_EQ((*stream)->exit_code().value(), 0);
}

TEST_F(ClusterTest, APortIsForwarded) {
  run("p", {"sh", "-c", "while true; do nc -l -p 8080 -e cat; done"});
  std::string answer;
  // The pod runs before nc listens.
  for (int i = 0; i < 100 && answer.empty(); ++i) {
    auto stream = open_port(api_, {space_, "p"}, 8080, soon());
    ASSERT_TRUE(stream) << stream.error().message;
    (void)(*stream)->write("echo", soon());
    std::string space(100, '\0');
    const auto count = (*stream)->read(space.data(), space.size(), soon());
    if (count) answer = space.substr(0, *count);
    (*stream)->end_writing();
  }
  EXPECT_EQ(answer, "echo");
}

TEST_F(ClusterTest, APodThatEndsOrIsRemovedIsSeen) {
  run("p");
  Watch watch(api_, pods());
  AwaitPhase running("p", "Running");
  ASSERT_TRUE(watch.follow(running, soon()).value());
  AwaitPhase removed("p", "");
  ASSERT_TRUE(api_.call({.method = "DELETE", .path = core_path(space_, "pods", "p")}));
  EXPECT_TRUE(watch.follow(removed, soon()).value());
  ASSERT_TRUE(api_.create(pods(), pod("q", {"true"})));
  AwaitPhase ended("q", "Succeeded");
  EXPECT_TRUE(watch.follow(ended, soon()).value());
}

TEST_F(ClusterTest, RefusesThePodsThatOurOwnCheckRefuses) {
  const std::string path = pods() + "?dryRun=All";
  const auto taken = api_.create(path, Json::parse(kRestrictedPod));
  EXPECT_TRUE(taken) << taken.error().message;
  for (const PodBreach& breach : pod_breaches()) {
    const auto made = api_.create(path, broken_pod(breach));
    EXPECT_EQ(made.has_value(), breach.is_beyond)
        << breach.pointer << " " << breach.value << (made ? "" : made.error().message);
  }
}

TEST_F(ClusterTest, AnApiServerThatIsKilledIsWaitedFor) {
  run("p");
  auto stream = exec("p", {"cat"});
  ASSERT_TRUE(stream) << stream.error().message;
  Watch watch(api_, pods());
  AwaitPhase running("p", "Running");
  ASSERT_TRUE(watch.follow(running, soon()).value());
  const int server = std::stoi(cluster({"pid", "kube-apiserver"}));
  ASSERT_EQ(::kill(server, SIGKILL), 0);
  EXPECT_THAT(read_to_end(**stream), testing::AnyOf("", HasSubstr("<")));
  EXPECT_FALSE((*stream)->exit_code());  // lost, and not ended
  std::thread restart([] { cluster({"start"}); });
  AwaitPhase removed("p", "");
  ApiClient other = client_of(access_);
  // The call begins while no server answers.
  const auto deleted = other.call({.method = "DELETE",
                                   .path = core_path(space_, "pods", "p"),
                                   .time = std::chrono::minutes(5)});
  EXPECT_TRUE(deleted) << deleted.error().message;
  EXPECT_TRUE(watch.follow(removed, soon()).value());
  restart.join();
}

}  // namespace
}  // namespace nutshell::kubernetes
