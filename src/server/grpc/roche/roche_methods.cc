#include "server/grpc/roche/roche_methods.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <algorithm>

#include "roche/v1/sandbox.pb.h"

namespace nutshell::server {
namespace {

namespace pb = google::protobuf;

// In the numbers of gRPC: the classes of Roche's errors, by which its clients tell them apart.
int status_of(const Error& error) {
  constexpr int kFailedPrecondition = 9;
  constexpr int kUnimplemented = 12;
  if (error.code == ErrorCode::Unsupported) return kUnimplemented;
  if (error.code == ErrorCode::Conflict) return kFailedPrecondition;  // paused
  constexpr int kInternal = 13;
  const int status = forms_of(error.code).grpc_status;
  return status == kFailedPrecondition ? kInternal : status;
}

Method refused(const char* name, const char* reason) {
  return {.name = name, .handle = [reason](RpcCall&) -> Result<> {
            return failure(ErrorCode::Unsupported, reason);
          }};
}

std::vector<Method> methods_without_meaning() {
  constexpr const char* kSession =
      "a session here has a sandbox of its own, and its budget holds for every command in it: use "
      "StartSession of nutshell.v1, or 'nutshell session'";
  return {refused("CreateSession", kSession), refused("DestroySession", kSession),
          refused("ListSessions", kSession),
          refused("UpdatePermissions",
                  "what a sandbox may do is fixed when it is made: make another one"),
          refused("AnalyzeIntent",
                  "what code may do is not read from the code, which may be hostile: say it in "
                  "Create")};
}

auto maker_of(const pb::Descriptor* type) {
  const pb::Message* prototype = pb::MessageFactory::generated_factory()->GetPrototype(type);
  return [prototype] { return std::unique_ptr<pb::Message>(prototype->New()); };
}

}  // namespace

Result<std::vector<Method>> roche_methods(const roche::Choices& choices) {
  std::vector<Method> known = methods_without_meaning();
  for (auto& part : {roche_sandbox_methods(choices), roche_exec_methods(), roche_copy_methods()})
    known.insert(known.end(), part.begin(), part.end());
  const pb::ServiceDescriptor& service =
      *::roche::v1::CreateRequest::descriptor()->file()->FindServiceByName("SandboxService");
  std::vector<Method> methods;
  for (int i = 0; i < service.method_count(); ++i) {
    const pb::MethodDescriptor& described = *service.method(i);
    const auto found = std::find_if(known.begin(), known.end(), [&](const Method& one) {
      return one.name == described.name();
    });
    if (found == known.end()) {
      return failure(ErrorCode::Internal,
                     fmt::format("Roche's method {} has no handler", described.name()));
    }
    Method method = *found;
    method.service = service.full_name();
    method.make_request = maker_of(described.input_type());
    method.make_reply = maker_of(described.output_type());
    method.streams_reply = described.server_streaming();
    method.status_of = status_of;
    methods.push_back(std::move(method));
  }
  return methods;
}

}  // namespace nutshell::server
