// Between protobuf messages and the JSON that the operations take and give, by the names of the
// fields.
#pragma once

#include "base/result.h"
#include "server/http/json.h"

namespace google::protobuf {
class Message;
}

namespace nutshell::server {

// What is set; bytes are left out, for their handlers to take.
Json to_json(const google::protobuf::Message& message);

// Sets what the message has a field for; a null sets nothing. Bytes are taken from NAME_base64,
// where it is there.
void fill(google::protobuf::Message& message, const Json& object);

}  // namespace nutshell::server
