// Every noun that the proto has, through its message and back.
#include "server/grpc/message_json.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "core/audit_entry.h"
#include "core/exec.h"
#include "core/json_form.h"
#include "core/network_report.h"
#include "core/pool.h"
#include "core/random_noun_fixture.h"
#include "core/sandbox_stats.h"
#include "core/sandbox_status.h"
#include "core/session.h"
#include "nutshell/v1/nutshell.pb.h"

namespace nutshell::server {
namespace {

namespace pb = google::protobuf;

// Removes what a message cannot tell from a field that is not set (null, empty lists and maps), and
// bytes, which handlers take themselves. Fails for a member that the message has no field for.
Json without_unset(const Json& json, const pb::Descriptor& type) {
  Json kept = Json::object();
  for (const auto& [name, value] : json.items()) {
    const pb::FieldDescriptor* field = type.FindFieldByName(name);
    if (field == nullptr) {
      EXPECT_TRUE(name.ends_with("_base64")) << type.full_name() << " has no field " << name;
      continue;
    }
    if (value.is_null() || field->type() == pb::FieldDescriptor::TYPE_BYTES) continue;
    if (field->is_repeated() && value.empty()) continue;
    const pb::Descriptor* inner = field->message_type();
    if (inner == nullptr || field->is_map() || !inner->full_name().starts_with("nutshell.v1.") ||
        (value.is_array() && !value.front().is_object())) {
      kept[name] = value;
    } else if (field->is_repeated()) {
      for (const Json& one : value)
        kept[name].push_back(without_unset(one, *inner));
    } else {
      kept[name] = without_unset(value, *inner);
    }
  }
  return kept;
}

// Compares the members whatever their order is.
nlohmann::json sorted(const Json& json) {
  return nlohmann::json::parse(json.dump());
}

template <typename T>
class MessageJson : public testing::Test {};
using NounsOfTheProto =
    testing::Types<Limits, UnsafeMount, NetworkPolicy, NetworkEvent, NetworkStatus, SandboxSpec,
                   Protection, SandboxStatus, SandboxStats, ExecRequest, ExecResult, Budget, Usage,
                   SessionRequest, SetupOutput, Session, PoolStatus, AuditRecord>;
TYPED_TEST_SUITE(MessageJson, NounsOfTheProto);

TYPED_TEST(MessageJson, GivesEveryNounBack) {
  const pb::Descriptor* type = v1::SandboxSpec::descriptor()->file()->FindMessageTypeByName(
      std::string(TypeParam::kNoun.name));
  ASSERT_NE(type, nullptr) << TypeParam::kNoun.name;
  for (const Written written : {Written::Shown, Written::Request}) {
    if (written == Written::Request && TypeParam::kNoun.direction == Direction::Given) continue;
    for (std::uint32_t seed = 0; seed < 200; ++seed) {
      const Json json = to_json(random_noun<TypeParam>(seed), written);
      const std::unique_ptr<pb::Message> message(
          pb::MessageFactory::generated_factory()->GetPrototype(type)->New());
      fill(*message, json);
      EXPECT_EQ(sorted(to_json(*message)), sorted(without_unset(json, *type)));
    }
  }
}

}  // namespace
}  // namespace nutshell::server
