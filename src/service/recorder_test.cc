#include "service/recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>

#include "audit/reader.h"
#include "base/scratch_fixture.h"

namespace nutshell::service {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class RecorderTest : public testing::Test {
 protected:
  RecorderTest() {
    options_.directory = scratch_ / "audit";
    options_.durability = audit::Durability::Kernel;
    chains_ = *audit::Chains::open(options_, "local", [](std::string_view) {});
    recorder_.emplace(*chains_, std::vector<std::string>{});
  }
  std::vector<std::string> outcomes() {
    std::vector<std::string> all;
    EXPECT_TRUE(audit::for_each_record_of_all(
        options_.directory, {}, [&all, this](const audit::Record& record) -> Result<audit::Visit> {
          all.push_back(record.entry.action + ": " + record.entry.outcome);
          details_.push_back(record.entry.detail);
          return audit::Visit::GoOn;
        }));
    return all;
  }
  // No file of this process can grow meanwhile.
  class FullDisk {
   public:
    FullDisk() {
      ::getrlimit(RLIMIT_FSIZE, &before_);
      handler_ = std::signal(SIGXFSZ, SIG_IGN);
      const rlimit none{0, before_.rlim_max};
      ::setrlimit(RLIMIT_FSIZE, &none);
    }
    FullDisk(const FullDisk&) = delete;
    FullDisk& operator=(const FullDisk&) = delete;
    ~FullDisk() {
      ::setrlimit(RLIMIT_FSIZE, &before_);
      (void)std::signal(SIGXFSZ, handler_);
    }

   private:
    rlimit before_{};
    void (*handler_)(int) = SIG_DFL;
  };

  ScratchDirectory scratch_;
  audit::AuditOptions options_;
  std::unique_ptr<audit::Chains> chains_;
  std::optional<Recorder> recorder_;
  std::vector<std::string> details_;
  const Caller alice_{"alice", "token a"};
};

TEST_F(RecorderTest, WritesAnEndLateThatAFullDiskRefused) {
  const auto first = recorder_->begin(alice_, "one", {});
  const auto second = recorder_->begin(alice_, "two", {});
  ASSERT_TRUE(first && second);
  {
    const FullDisk full;
    EXPECT_EQ(recorder_->end(*first, {}), 0U);
    EXPECT_EQ(recorder_->end(*second, {}), 0U);
    EXPECT_FALSE(recorder_->begin(alice_, "three", {}));  // nothing is done unrecorded
  }
  recorder_->catch_up();
  EXPECT_THAT(outcomes(), ElementsAre("one: begun", "two: begun", "one: ok", "two: ok"));
  EXPECT_THAT(details_.back(), HasSubstr("written late"));
  EXPECT_EQ(recorder_->trouble(), "");
}

TEST_F(RecorderTest, CutsWhatIsLongAndSaysSo) {
  const std::string much(125'000, 'x');
  const Caller caller{"alice", much};
  SandboxSpec spec;
  spec.image = much;
  spec.labels[much] = much;
  spec.environment = {"A=" + much};
  const auto act = recorder_->begin(caller, much, {much, much, {}}, recorder_->describe(spec));
  ASSERT_TRUE(act) << act.error().message;
  recorder_->end(*act, {much, much, {}, {}, {}, 0});
  recorder_->deny({"", "10.0.0.1"}, much);
  const auto records = audit::read_records(recorder_->directory_of("alice"), {});
  ASSERT_TRUE(records);
  ASSERT_EQ(records->size(), 2U);
  for (const audit::Record& record : *records) {
    EXPECT_LT(audit::encode_entry(record.entry).size(), 20'000U);
    EXPECT_THAT(record.entry.who, HasSubstr("bytes more"));
  }
}

TEST_F(RecorderTest, FindsSecretsHoweverJsonWritesThem) {
  const std::string secret = "sw\"ord\\fish";
  const std::string told = recorder_->describe_json(
      "arguments",
      R"({"command":"echo sw\u0022ord\\fish","sw\"ord\\fish":[{"a":"sw\"ord\\fish"}]})", {secret});
  EXPECT_THAT(told, AllOf(HasSubstr("[redacted]"), Not(HasSubstr("ord"))));
  EXPECT_THAT(recorder_->describe_json("arguments", R"(not JSON sw\"ord\\fish)", {secret}),
              Not(HasSubstr("fish")));
}

}  // namespace
}  // namespace nutshell::service
