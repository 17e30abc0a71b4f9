// Converts between protobuf messages and the JSON of the routes, by the names of the fields.
#pragma once

#include "base/result.h"
#include "server/http/json.h"

namespace google::protobuf {
class Message;
}

namespace nutshell::server {

// Converts the fields that are set, without bytes, which the handlers take themselves.
Json to_json(const google::protobuf::Message& message);

// Sets the fields that the message has; null sets none. Bytes are taken from NAME_base64 if it is
// there.
void fill(google::protobuf::Message& message, const Json& object);

}  // namespace nutshell::server
