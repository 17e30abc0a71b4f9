#include "service/evidence/operations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "audit/reader.h"
#include "base/scratch_fixture.h"

namespace nutshell::service {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class OperationsTest : public testing::Test {
 protected:
  OperationsTest() {
    options_.directory = scratch_ / "audit";
    options_.durability = audit::Durability::Kernel;
    chains_ = *audit::Chains::open(options_, "local", [](std::string_view) {});
    operations_.emplace(*chains_, metrics_, std::vector<std::string>{});
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
  Metrics metrics_;
  std::optional<Operations> operations_;
  std::vector<std::string> details_;
  const Caller alice_{"alice", "token a"};
};

TEST_F(OperationsTest, WritesAnEndLateThatAFullDiskRefused) {
  auto first = operations_->begin(alice_, {"one"});
  auto second = operations_->begin(alice_, {"two"});
  ASSERT_TRUE(first && second);
  {
    const FullDisk full;
    EXPECT_EQ(operations_->end(*first), 0U);
    EXPECT_EQ(operations_->end(*second), 0U);
    EXPECT_FALSE(operations_->begin(alice_, {"three"}));  // nothing is done unrecorded
  }
  operations_->catch_up();
  EXPECT_THAT(outcomes(), ElementsAre("one: begun", "two: begun", "one: ok", "two: ok"));
  EXPECT_THAT(details_.back(), HasSubstr("written late"));
  EXPECT_EQ(operations_->trouble(), "");
}

TEST_F(OperationsTest, AreRecordedAndCountedWhateverTheirWorkReturns) {
  struct View {
    std::uint64_t audit_id = 0;
  };
  const auto done =
      operations_->run(alice_, {"good"}, [](Operation&) { return Result<View>(View()); });
  ASSERT_TRUE(done);
  EXPECT_GT(done->audit_id, 0U);
  const auto failed = operations_->run(alice_, {"bad"}, [](Operation&) -> Result<> {
    return failure(ErrorCode::NotFound, "no such thing\nwith output");
  });
  EXPECT_EQ(failed.error().code, ErrorCode::NotFound);
  const auto refused = operations_->run(alice_, {"tool x"}, [](Operation& operation) -> Result<> {
    operation.fail({ErrorCode::ResourceExhausted, "full"}, "refused");
    return failure(ErrorCode::ResourceExhausted, "full");
  });
  EXPECT_FALSE(refused);
  Operation elsewhere;
  EXPECT_TRUE(operations_->run(alice_, {"long"}, [&](Operation& operation) -> Result<> {
    elsewhere = std::move(operation);
    return {};
  }));
  EXPECT_TRUE(elsewhere.is_open());
  EXPECT_THAT(outcomes(),
              ElementsAre("good: begun", "good: ok", "bad: begun", "bad: failed: not_found",
                          "tool x: begun", "tool x: refused: resource_exhausted", "long: begun"));
  EXPECT_EQ(details_[3], "no such thing");
  elsewhere.ending.outcome = "exited 3";
  operations_->end(elsewhere);
  EXPECT_FALSE(elsewhere.is_open());
  EXPECT_EQ(outcomes().back(), "long: exited 3");
  std::vector<std::string> counted;
  for (const Metric& metric : metrics_.snapshot()) {
    for (const auto& sample : metric.samples)
      counted.push_back(sample.labels[0].second + " " + sample.labels[1].second);
  }
  EXPECT_THAT(counted, testing::UnorderedElementsAre("good ok", "long exited", "bad not_found",
                                                     "tool resource_exhausted"));
}

TEST_F(OperationsTest, CutsWhatIsLongAndSaysSo) {
  const std::string much(125'000, 'x');
  const Caller caller{"alice", much};
  SandboxSpec spec;
  spec.image = much;
  spec.labels[much] = much;
  spec.environment = {"A=" + much};
  auto operation =
      operations_->begin(caller, {much, {much, much, {}}, operations_->describe(spec)});
  ASSERT_TRUE(operation) << operation.error().message;
  operation->ending.outcome = operation->ending.detail = much;
  operations_->end(*operation);
  operations_->deny({"", "10.0.0.1"}, much);
  const auto records = audit::read_records(operations_->directory_of("alice"), {});
  ASSERT_TRUE(records);
  ASSERT_EQ(records->size(), 2U);
  for (const audit::Record& record : *records) {
    EXPECT_LT(audit::encode_entry(record.entry).size(), 20'000U);
    EXPECT_THAT(record.entry.who, HasSubstr("bytes more"));
  }
}

TEST_F(OperationsTest, FindsSecretsHoweverJsonWritesThem) {
  const std::string secret = "sw\"ord\\fish";
  const std::string told = operations_->describe_json(
      "arguments",
      nlohmann::json::parse(
          R"({"command":"echo sw\u0022ord\\fish","sw\"ord\\fish":[{"a":"sw\"ord\\fish"}]})"),
      {secret});
  EXPECT_THAT(told, AllOf(HasSubstr("[redacted]"), Not(HasSubstr("ord"))));
}

}  // namespace
}  // namespace nutshell::service
