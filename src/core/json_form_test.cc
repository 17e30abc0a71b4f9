#include "core/json_form.h"

#include <gtest/gtest.h>

#include <set>

#include "core/audit_entry.h"
#include "core/every_type_fixture.h"
#include "core/exec.h"
#include "core/json_form.inc"
#include "core/network_report.h"
#include "core/pool.h"
#include "core/random_noun_fixture.h"
#include "core/sandbox_stats.h"
#include "core/sandbox_status.h"
#include "core/session.h"
#include "core/shape.h"

namespace nutshell {
namespace {

using Json = nlohmann::ordered_json;

template <typename T>
class JsonForm : public testing::Test {};
using EveryNoun =
    testing::Types<Limits, ExecLimits, UnsafeMount, NetworkPolicy, NetworkEvent, NetworkStatus,
                   SandboxSpec, Protection, SandboxStatus, SandboxStats, WindowSize, ExecRequest,
                   ExecResult, Budget, Usage, SessionRequest, SetupOutput, Session, PoolSpec,
                   PoolStatus, AuditEntry, AuditRecord, EveryType>;
TYPED_TEST_SUITE(JsonForm, EveryNoun);

TYPED_TEST(JsonForm, WhatIsKeptComesBackAsItWas) {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    const auto noun = random_noun<TypeParam>(seed);
    const std::string text = to_json_text(noun, Written::Kept);
    const auto back = from_json_text<TypeParam>(text);
    ASSERT_TRUE(back) << back.error().message << " in " << text;
    EXPECT_EQ(to_json_text(*back, Written::Kept), text);
  }
}

TYPED_TEST(JsonForm, HasTheFieldsOfItsShape) {
  for (std::uint32_t seed = 0; seed < 100; ++seed) {
    const Json shown = to_json(random_noun<TypeParam>(seed));
    std::set<std::string> names;
    for (const Field& field : shape_of<TypeParam, Direction::Given>().fields)
      names.insert(field.name);
    for (const auto& [key, value] : shown.items())
      EXPECT_TRUE(names.contains(key)) << key;
  }
}

TYPED_TEST(JsonForm, NumbersAndNamesAreUsedOnce) {
  std::set<int> numbers;
  std::set<std::string_view> names;
  TypeParam noun;
  TypeParam::describe(
      [&](const FieldInfo& info, auto&& /*member*/) {
        EXPECT_GT(info.number, 0) << info.name;
        EXPECT_TRUE(numbers.insert(info.number).second)
            << info.name << " has number " << info.number;
        EXPECT_TRUE(names.insert(info.name).second) << info.name;
      },
      noun);
}

TYPED_TEST(JsonForm, ValuesOfAWrongTypeAreRefused) {
  const Json whole = to_json(random_noun<TypeParam>(7), Written::Kept);
  for (const auto& [key, value] : whole.items()) {
    for (const Json& wrong : {Json(Json::array({Json(nullptr)})), Json(1e300)}) {
      Json changed = whole;
      changed[key] = wrong;
      TypeParam noun;
      const bool is_any = key == "json" || key == "arguments";
      EXPECT_EQ(read_json(changed, noun).has_value(), is_any) << key << " = " << wrong;
    }
  }
}

TEST(JsonFormOfSecrets, AreNeverShownAndAlwaysAskedFor) {
  EveryType every;
  every.secret = "s3cret";
  every.internal = "inside";
  every.read_only = "found out";
  EXPECT_FALSE(to_json(every).contains("secret"));
  EXPECT_FALSE(to_json(every).contains("internal"));
  EXPECT_TRUE(to_json(every).contains("read_only"));
  EXPECT_TRUE(to_json(every, Written::Request).contains("secret"));
  EXPECT_FALSE(to_json(every, Written::Request).contains("internal"));
  EXPECT_FALSE(to_json(every, Written::Request).contains("read_only"));
  EXPECT_TRUE(to_json(every, Written::Kept).contains("internal"));
}

TEST(JsonFormOfSpecs, KeepRuntimeAndRequirements) {
  SandboxSpec spec;
  spec.runtime = "runsc";
  spec.requirements = {{"memory", true}, {"seccomp", false}};
  SandboxStatus status;
  status.spec = spec;
  SandboxStatus back;
  ASSERT_TRUE(read_json(to_json(status), back));
  EXPECT_EQ(back.spec.runtime, "runsc");
  EXPECT_EQ(back.spec.requirements, spec.requirements);
}

TEST(JsonFormOfWords, RefusesEnumeratorsThatThereAreNot) {
  UnsafeMount mount;
  EXPECT_FALSE(read_json(Json{{"access", "read-some"}}, mount));
  EXPECT_FALSE(read_json(Json{{"access", 1}}, mount));
}

}  // namespace
}  // namespace nutshell
