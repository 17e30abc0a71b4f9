// The kinds of failure, and the one table of how each is told to those outside: the word in JSON
// and in the text of tools, and the numbers of HTTP, gRPC and JSON-RPC. The command line exits with
// 125 for all of them: every other status belongs to the command in the sandbox.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace nutshell {

// The numbers are sent on the wire: new codes go to the end.
enum class ErrorCode : std::uint8_t {
  InvalidArgument,    // the caller asked for something that makes no sense
  NotFound,           // no such sandbox, file, image, job
  AlreadyExists,      //
  PermissionDenied,   // the caller may not
  Unsupported,        // this host or backend cannot keep what was asked for
  ResourceExhausted,  // disk, memory, processes, descriptors, budget
  DeadlineExceeded,   //
  Cancelled,          //
  Unavailable,        // the other side is gone or does not answer
  Corrupt,            // the other side sent what the protocol forbids
  Internal,           // a bug, or a kernel answer nobody expects
  Unauthenticated,    // no valid token or certificate
  Conflict,           // the state of the object does not allow it now
  Stale,              // the file is not the version the caller has read
  Expired,            // it was there, and is not kept any more
  TooLarge,           // a file or a body beyond the limit for it
  NotUnique,          // the text to replace is there more than once
  Binary,             // the file is not text
  IsDirectory,        //
  OutsideRoot,        // the path leads out of the places that tools may write to
  LazyPlaceholder,    // the text has a comment in place of what was left out
};
inline constexpr std::size_t kErrorCodes = 21;

struct ErrorCodeForms {
  std::string_view word;
  int http_status;
  int grpc_status;    // as in grpc::StatusCode
  int json_rpc_code;  // of an MCP error; the errors of a tool are in its result
};

const ErrorCodeForms& forms_of(ErrorCode code);
std::string_view to_string(ErrorCode code);
// Internal for a number or a word that is not in the table: both may come from the other side.
ErrorCode to_error_code(std::uint8_t number);
ErrorCode to_error_code(std::string_view word);

}  // namespace nutshell
