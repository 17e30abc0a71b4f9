// The service is killed at each of its steps; the next one has to know what is, and nothing that
// was acknowledged may be lost, done twice, or left behind.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include <set>

#include "audit/reader.h"
#include "audit/verify.h"
#include "base/file.h"
#include "service/evidence.h"
#include "service/pools/pools.h"
#include "service/sandboxes/sandbox_files.h"
#include "service/sessions/sessions.h"
#include "service_fixture.h"

namespace nutshell::service {
namespace {

using testing::HasSubstr;

enum class Killed { Service, Launcher };

struct Case {
  const char* fault;  // empty: after all steps
  std::vector<std::string> steps;
  Killed killed = Killed::Service;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << (c.killed == Killed::Launcher ? "launcher at " : "") << c.fault;
  for (const std::string& step : c.steps)
    *out << ' ' << step;
}

class CrashTest : public ServiceTest, public testing::WithParamInterface<Case> {
 protected:
  void SetUp() override {
    workspace_ = scratch_ / "workspace";
    std::filesystem::create_directory(workspace_);
    std::ofstream(workspace_ / "old") << "old\n";
    if (!runtime_->check(spec_)) GTEST_SKIP() << "no sandboxes can be made here";
  }

  // Returns the answers that the victim got before it died.
  std::vector<std::string> kill_at(const Case& chosen) {
    const auto told = scratch_ / "told";
    std::vector<std::string> words = {NUTSHELL_VICTIM, programs_directory().native(),
                                      options_.state_directory.native(), workspace_.native()};
    words.insert(words.end(), chosen.steps.begin(), chosen.steps.end());
    std::vector<char*> argv;
    for (std::string& word : words)
      argv.push_back(word.data());
    argv.push_back(nullptr);
    std::string runtime = "NUTSHELL_RUNTIME_DIR=" + (scratch_ / "run").native();
    const bool spares_it = chosen.killed == Killed::Launcher;
    std::string fault =
        std::string("NUTSHELL_TEST_FAULT=") + chosen.fault + (spares_it ? ":stop" : "");
    std::vector<char*> environment = {runtime.data(), fault.data(), nullptr};
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, 1, told.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                       0600);
    pid_t pid = 0;
    EXPECT_EQ(
        ::posix_spawn(&pid, NUTSHELL_VICTIM, &actions, nullptr, argv.data(), environment.data()),
        0);
    ::posix_spawn_file_actions_destroy(&actions);
    int status = 0;
    if (spares_it) {
      EXPECT_EQ(::waitpid(pid, &status, WUNTRACED), pid);
      EXPECT_TRUE(WIFSTOPPED(status)) << "it was not stopped there";
      kill_launcher();
      if (WIFSTOPPED(status)) ::kill(pid, SIGCONT);
    }
    if (!WIFSIGNALED(status)) {
      EXPECT_EQ(::waitpid(pid, &status, 0), pid);
    }
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "it was not killed there";
    std::ifstream file(told);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);)
      lines.push_back(line);
    return lines;
  }
  // In how many pid namespaces it has a number.
  static std::ptrdiff_t depth_of(const std::filesystem::path& process) {
    const std::string text = read_file(process / "status", 64U << 10U).value_or(std::string());
    const std::size_t begin = std::min(text.find("NSpid:"), text.size());
    const std::string line = text.substr(begin, text.find('\n', begin) - begin);
    return std::count(line.begin(), line.end(), '\t');
  }
  void kill_launcher() const {
    for (const auto& process : std::filesystem::directory_iterator("/proc")) {
      const auto command = read_file(process.path() / "cmdline", 4096);
      if (!command || command->find("nutshell-launcher") == std::string::npos ||
          command->find((scratch_ / "run").native()) == std::string::npos ||
          depth_of(process.path()) > depth_of("/proc/self"))
        continue;  // an init is a clone of its launcher, one namespace further down
      ::kill(std::stoi(process.path().filename().native()), SIGKILL);
    }
  }
  static std::string word_behind(const std::vector<std::string>& lines, const std::string& start) {
    for (const std::string& line : lines) {
      if (line.starts_with(start + " ")) return line.substr(start.size() + 1);
    }
    return {};
  }
  std::string text_of(const char* name) {
    return read_file(workspace_ / name).value_or(std::string("missing"));
  }

  std::filesystem::path workspace_;
};

TEST_P(CrashTest, LosesNothingAndLeavesNothing) {
  const auto told = kill_at(GetParam());
  PoolSpec pool;
  pool.name = "p";
  pool.spec = spec_;
  pool.min_idle = 1;
  pool.max_idle = 2;
  pool.max_total = 3;
  if (GetParam().steps.front() == "acquire") options_.pools = {pool};
  const bool has_launcher = GetParam().killed == Killed::Service;
  if (has_launcher) {
    EXPECT_EQ(word_behind(told, "failed"), "");
  }
  // A copy that was cut short ends with its maker, before anybody cleans up.
  if (GetParam().steps.back() == "fork") {
    EXPECT_TRUE(soon([&] { return running() == 1; })) << running() << " run";
  }
  open();
  ASSERT_TRUE(service_);

  // Every running sandbox is known: the caller's, or waiting in a pool.
  EXPECT_TRUE(soon([&] {
    const auto pools = service_->pools().status(alice_);
    const std::size_t waiting = pools.empty() ? 0 : pools.front().total - pools.front().in_use;
    return running() == service_->list(alice_, {})->sandboxes.size() + waiting;
  })) << running()
      << " run";
  const auto mine = service_->list(alice_, {})->sandboxes;

  // Sandboxes whose making was acknowledged exist and can be used.
  const bool is_ended =
      std::find(told.begin(), told.end(), "over") != told.end() &&
      (GetParam().steps.back() == "destroy" || GetParam().steps.back() == "release");
  for (const char* word : {"created", "acquired", "session"}) {
    const std::string id = word_behind(told, word);
    const bool may_be_ended =
        GetParam().steps.back() == "destroy" || GetParam().steps.back() == "release";
    if (id.empty()) continue;
    // With the launcher its sandboxes end, but those that it never had do not.
    const bool must_live = has_launcher || std::string_view(GetParam().fault) == "create.recorded";
    if (!may_be_ended && (must_live || service_->find(alice_, id))) {
      EXPECT_EQ(exec(alice_, id, "echo here").output, "here\n");
    }
    if (is_ended) {
      EXPECT_FALSE(service_->find(alice_, id));
    }
  }
  if (is_ended) {
    EXPECT_TRUE(mine.empty());
  }

  // The same request again makes nothing twice.
  if (GetParam().steps.front() == "create" && !is_ended) {
    SandboxSpec spec;
    spec.workspace = workspace_;
    const auto again = service_->create(alice_, {spec, "the key"});
    ASSERT_TRUE(again) << again.error().message;
    const std::string id = word_behind(told, "created");
    if (!id.empty() && service_->find(alice_, id)) {
      EXPECT_EQ(again->id, id);
    }
    EXPECT_LE(service_->list(alice_, {})->sandboxes.size(), 1U);
  }

  // A result that was told is in the record.
  const std::string ran = word_behind(told, "ran");
  if (!ran.empty()) {
    audit::Filter filter;
    filter.after_id = std::stoull(ran) - 1;
    filter.most = 1;
    const auto records = service_->evidence().records(alice_, filter);
    ASSERT_EQ(records->size(), 1U);
    EXPECT_EQ(records->front().entry.action, "exec");
    EXPECT_EQ(records->front().entry.outcome, "exited 0");
  }
  // A detached one goes on, once, whoever dies.
  const std::string detached = word_behind(told, "detached");
  if (!detached.empty() && !mine.empty()) {
    wire::CapturedOutput io;
    const auto ended =
        service_->follow_exec(alice_, mine.front().id, detached, {}, Deadline::in(20s), io);
    ASSERT_TRUE(ended) << ended.error().message;
    ASSERT_TRUE(ended->ending);
    const bool is_done = ended->ending->outcome == Outcome::Exited && io.output == "x\n";
    // Only where init was never asked may it be lost, and then it says so.
    const bool is_honest = ended->ending->outcome == Outcome::Lost &&
                           (word_behind(told, "ended").empty() || !has_launcher);
    EXPECT_TRUE(is_done || is_honest) << ended->ending->detail << io.output;
  }
  // Files are whole, or as they were.
  EXPECT_TRUE(text_of("old") == "old\n" || text_of("old") == "changed\n");
  EXPECT_TRUE(text_of("new") == "missing" || text_of("new") == "new\n");
  if (std::find(told.begin(), told.end(), "applied") != told.end()) {
    EXPECT_EQ(text_of("new"), "new\n");
  }
  // The next apply finishes an apply that was cut off, and leaves nothing of it.
  if (GetParam().steps.back() == "apply" && has_launcher && !mine.empty()) {
    const auto again = service_->files().apply(alice_, mine.front().id, {});
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->conflicts, std::vector<std::string>());
    EXPECT_EQ(text_of("old") + text_of("new"), "changed\nnew\n");
    std::size_t entries = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(workspace_))
      ++entries;
    EXPECT_EQ(entries, 2U);
  }
  if (GetParam().steps.back() == "copy" && !mine.empty()) {
    const std::string size =
        exec(alice_, mine.front().id, "wc -c < copied 2>/dev/null || echo none").output;
    EXPECT_TRUE(size == "none\n" || size == "20000\n") << size;
    if (std::find(told.begin(), told.end(), "copied") != told.end()) {
      EXPECT_EQ(size, "20000\n");
    }
  }
  // It was written down first: whoever dies then, it holds, and whoever ends sandboxes is told.
  if (GetParam().steps.back() == "extend" && !mine.empty()) {
    EXPECT_GT(mine.front().time_left, 110min);
    EXPECT_TRUE(soon([&] { return runtime_->list()->at(0).time_left > 110min; }));
  }
  // Setup ran exactly once in the life that there is.
  if (GetParam().steps.front() == "session") {
    SessionRequest request;
    request.name = "s";
    request.spec = spec_;
    request.setup = {{"/bin/sh", "-c", "echo setup >> /workspace/setup"}};
    const auto view = service_->sessions().ensure(alice_, request);
    ASSERT_TRUE(view) << view.error().message;
    EXPECT_EQ(exec(alice_, view->sandbox_id, "cat setup").output, "setup\n");
    EXPECT_EQ(service_->list(alice_, {})->sandboxes.size(), 1U);
  }

  // And all of it can be put away.
  const auto last = service_->list(alice_, {})->sandboxes;
  for (const SandboxView& view : last)
    EXPECT_TRUE(service_->destroy(alice_, view.id));
  (void)service_->pools().drain(alice_, "p");  // there is one, or not
  EXPECT_TRUE(soon([&] { return running() == 0; }));
  EXPECT_EQ(audit::verify(options_.state_directory / "audit")->finding,
            audit::Verdict::Finding::Intact);
  EXPECT_EQ(service_->create(alice_, {spec_, {}}).has_value(), true);  // the quota is free again
}

INSTANTIATE_TEST_SUITE_P(
    Matrix, CrashTest,
    testing::Values(
        Case{"create.recorded", {"create"}}, Case{"create.started", {"create"}},
        Case{"create.noted", {"create"}}, Case{"create.done", {"create"}},
        Case{"create.told", {"create"}}, Case{"", {"create"}},
        Case{"exec.recorded", {"create", "exec"}}, Case{"exec.ended", {"create", "exec"}},
        Case{"exec.noted", {"create", "exec"}}, Case{"", {"create", "exec"}},
        Case{"detach.recorded", {"create", "detach"}}, Case{"detach.ended", {"create", "detach"}},
        Case{"detach.noted", {"create", "detach"}}, Case{"", {"create", "detach"}},
        Case{"copy.recorded", {"create", "copy"}}, Case{"copy.part", {"create", "copy"}},
        Case{"copy.done", {"create", "copy"}}, Case{"", {"create", "copy"}},
        Case{"apply.recorded", {"create", "apply"}}, Case{"apply.written", {"create", "apply"}},
        Case{"apply.done", {"create", "apply"}}, Case{"", {"create", "apply"}},
        Case{"acquire.chosen", {"acquire"}}, Case{"acquire.noted", {"acquire"}},
        Case{"", {"acquire"}}, Case{"release.recorded", {"acquire", "release"}},
        Case{"", {"acquire", "release"}}, Case{"destroy.recorded", {"create", "destroy"}},
        Case{"destroy.stopped", {"create", "destroy"}}, Case{"destroy.done", {"create", "destroy"}},
        Case{"", {"create", "destroy"}}, Case{"extend.recorded", {"create", "extend"}},
        Case{"", {"create", "extend"}}, Case{"fork.made", {"create", "fork"}},
        Case{"fork.copied", {"create", "fork"}}, Case{"exec.output", {"create", "exec"}},
        Case{"acquire.told", {"acquire"}}, Case{"release.told", {"acquire", "release"}},
        Case{"destroy.told", {"create", "destroy"}}, Case{"session.recorded", {"session"}},
        Case{"session.made", {"session"}}, Case{"session.setup", {"session"}},
        Case{"", {"session"}}));

INSTANTIATE_TEST_SUITE_P(
    WithoutLauncher, CrashTest,
    testing::Values(Case{"create.recorded", {"create"}, Killed::Launcher},
                    Case{"create.started", {"create"}, Killed::Launcher},
                    Case{"create.noted", {"create"}, Killed::Launcher},
                    Case{"create.done", {"create"}, Killed::Launcher},
                    Case{"create.told", {"create"}, Killed::Launcher},
                    Case{"exec.recorded", {"create", "exec"}, Killed::Launcher},
                    Case{"exec.output", {"create", "exec"}, Killed::Launcher},
                    Case{"exec.ended", {"create", "exec"}, Killed::Launcher},
                    Case{"exec.noted", {"create", "exec"}, Killed::Launcher},
                    Case{"detach.recorded", {"create", "detach"}, Killed::Launcher},
                    Case{"detach.ended", {"create", "detach"}, Killed::Launcher},
                    Case{"detach.noted", {"create", "detach"}, Killed::Launcher},
                    Case{"copy.recorded", {"create", "copy"}, Killed::Launcher},
                    Case{"copy.part", {"create", "copy"}, Killed::Launcher},
                    Case{"copy.done", {"create", "copy"}, Killed::Launcher},
                    Case{"apply.recorded", {"create", "apply"}, Killed::Launcher},
                    Case{"apply.written", {"create", "apply"}, Killed::Launcher},
                    Case{"apply.done", {"create", "apply"}, Killed::Launcher},
                    Case{"acquire.chosen", {"acquire"}, Killed::Launcher},
                    Case{"acquire.noted", {"acquire"}, Killed::Launcher},
                    Case{"acquire.told", {"acquire"}, Killed::Launcher},
                    Case{"extend.recorded", {"create", "extend"}, Killed::Launcher},
                    Case{"release.recorded", {"acquire", "release"}, Killed::Launcher},
                    Case{"release.told", {"acquire", "release"}, Killed::Launcher},
                    Case{"destroy.recorded", {"create", "destroy"}, Killed::Launcher},
                    Case{"destroy.stopped", {"create", "destroy"}, Killed::Launcher},
                    Case{"destroy.done", {"create", "destroy"}, Killed::Launcher},
                    Case{"destroy.told", {"create", "destroy"}, Killed::Launcher},
                    Case{"session.recorded", {"session"}, Killed::Launcher},
                    Case{"session.made", {"session"}, Killed::Launcher},
                    Case{"session.setup", {"session"}, Killed::Launcher}));

// The launcher dies: its sandboxes die with it, and the service says so.
TEST_F(CrashTest, TheLaunchersDeathIsNoticed) {
  open();
  const std::string id = create(alice_);
  ASSERT_EQ(exec(alice_, id, "echo a").output, "a\n");
  kill_launcher();
  EXPECT_TRUE(soon([&] { return !service_->find(alice_, id); }));
  const auto again = service_->create(alice_, {spec_, {}});
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(exec(alice_, again->id, "echo b").output, "b\n");
  // This process has no child: neither the dead launcher nor the new one.
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
}

}  // namespace
}  // namespace nutshell::service
