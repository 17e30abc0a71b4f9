// The messages between the host and init about commands and plain files, and the types of all
// messages; tool_schema.h has those of the tools. A message is a plain struct that lists its fields
// once, or holds a noun of `core`; codec.h turns the list into bytes and back. The README beside
// this file tells how the messages form conversations.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error_code.h"
#include "core/exec.h"

namespace nutshell::wire {

inline constexpr std::uint64_t kMagic = 0x6c6c656873747541ULL;
inline constexpr std::uint32_t kVersion = 3;

enum class MessageType : std::uint8_t {
  Hello = 1,
  Exec = 10,
  Attach = 11,
  Input = 12,
  InputEnd = 13,
  Consumed = 14,
  Resize = 15,
  Signal = 16,
  Cancel = 17,
  CloseOutput = 18,
  Keep = 19,
  ReadFile = 20,
  WriteFile = 21,
  FileData = 22,
  FileEnd = 23,
  Stat = 24,
  Walk = 25,
  MakeDirectory = 26,
  MakeLink = 27,
  Suspend = 30,
  Continue = 31,
  Ping = 32,
  SetTimeLeft = 33,
  EndAll = 34,
  Release = 35,
  Output = 41,
  InputConsumed = 42,
  Ended = 43,
  Failed = 44,
  FileInfo = 45,
  Entries = 46,
  Done = 47,
  ReadText = 60,
  PutFile = 61,
  EditFile = 62,
  Remove = 63,
  ListDirectory = 64,
  FindFiles = 65,
  Search = 66,
  Undo = 67,
  BeginChange = 68,
  EndChange = 69,
  ListChanges = 70,
  UseLayers = 71,
  Checkpoint = 72,
  Rollback = 73,
  TextPage = 80,
  Changed = 81,
  Refused = 82,
  Listing = 83,
  FindPage = 84,
  SearchPage = 85,
  Changes = 86,
  ChangeBegun = 87,
  UseNetwork = 100,
  Egress = 101,
  Dial = 102,
  Resolve = 103,
  Resolved = 104,
  OpenFlow = 105,
  FlowOpened = 106,
  FlowData = 107,
  FlowConsumed = 108,
  FlowEnd = 109,
  FlowReset = 110,
  EgressOpened = 111,
  DoorTaken = 112,
  FlowJoined = 113,
};

enum class Stream : std::uint8_t { Output = 1, Error = 2 };

// First message of both sides, on conversation 0.
struct Hello {
  static constexpr auto kType = MessageType::Hello;
  std::uint64_t magic = kMagic;
  std::uint32_t version = kVersion;
  void fields(auto& visit) { visit(magic, version); }
};

// Opens an exec conversation. The same exec_id lets a later connection attach to it.
struct Exec {
  static constexpr auto kType = MessageType::Exec;
  std::string exec_id;
  ExecRequest request;
  std::uint32_t window = 0;  // bytes of each stream init may send beyond what was consumed
  // While no connection reads, init drops the oldest bytes beyond what it keeps instead of blocking
  // the command; the offset of the next Output tells how many.
  std::uint8_t drops_oldest = 0;
  void fields(auto& visit) { visit(exec_id, request, window, drops_oldest); }
};

// Opens an exec conversation on an exec that already runs, from these offsets on.
struct Attach {
  static constexpr auto kType = MessageType::Attach;
  std::string exec_id;
  std::uint64_t output_offset = 0;
  std::uint64_t error_offset = 0;
  void fields(auto& visit) { visit(exec_id, output_offset, error_offset); }
};

struct Input {
  static constexpr auto kType = MessageType::Input;
  std::string bytes;
  void fields(auto& visit) { visit(bytes); }
};
struct InputEnd {
  static constexpr auto kType = MessageType::InputEnd;
  void fields(auto& visit) { visit(); }
};

// The host has taken all bytes of the stream before `offset`: init may forget them and send on.
struct Consumed {
  static constexpr auto kType = MessageType::Consumed;
  Stream stream = Stream::Output;
  std::uint64_t offset = 0;
  void fields(auto& visit) { visit(stream, offset); }
};

struct Resize {
  static constexpr auto kType = MessageType::Resize;
  std::uint16_t rows = 0;
  std::uint16_t columns = 0;
  void fields(auto& visit) { visit(rows, columns); }
};

// Sent to every process of the exec.
struct Signal {
  static constexpr auto kType = MessageType::Signal;
  std::uint32_t number = 0;
  void fields(auto& visit) { visit(number); }
};
struct Cancel {
  static constexpr auto kType = MessageType::Cancel;
  void fields(auto& visit) { visit(); }
};

// The exec goes on when its connection is lost, as with OnDisconnect::Keep.
struct Keep {
  static constexpr auto kType = MessageType::Keep;
  void fields(auto& visit) { visit(); }
};

// The host reads this stream no more: the command gets SIGPIPE when it writes there.
struct CloseOutput {
  static constexpr auto kType = MessageType::CloseOutput;
  Stream stream = Stream::Output;
  void fields(auto& visit) { visit(stream); }
};

// The state of a file that a request means. Init refuses a state that it no longer keeps as
// `expired`.
enum class FileState : std::uint8_t {
  Now = 0,
  BeforeLastChange = 1,  // before the last tool call that changed the file and can be undone
  Base = 2,              // as it came into the workspace
};

// Answered by FileInfo, then FileData within the window, then Done.
struct ReadFile {
  static constexpr auto kType = MessageType::ReadFile;
  std::string path;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::uint32_t window = 0;
  FileState state = FileState::Now;
  void fields(auto& visit) { visit(path, offset, length, window, state); }
};

// Followed by FileData and FileEnd, acknowledged by InputConsumed, answered by Done. A whole file
// is replaced at once (temporary file and rename); with is_range the bytes go to `offset` of the
// existing file.
struct WriteFile {
  static constexpr auto kType = MessageType::WriteFile;
  std::string path;
  std::uint32_t mode = 0644;
  std::uint8_t is_range = 0;
  std::uint64_t offset = 0;
  void fields(auto& visit) { visit(path, mode, is_range, offset); }
};
struct FileData {
  static constexpr auto kType = MessageType::FileData;
  std::string bytes;
  void fields(auto& visit) { visit(bytes); }
};
struct FileEnd {
  static constexpr auto kType = MessageType::FileEnd;
  void fields(auto& visit) { visit(); }
};

// Answered by FileInfo. The last link of the path is not followed unless asked.
struct Stat {
  static constexpr auto kType = MessageType::Stat;
  std::string path;
  std::uint8_t follows_link = 0;
  void fields(auto& visit) { visit(path, follows_link); }
};

// Answered by Entries within the window, parents before children, then Done.
struct Walk {
  static constexpr auto kType = MessageType::Walk;
  std::string path;
  std::uint32_t most_depth = 0;
  std::uint32_t window = 0;
  void fields(auto& visit) { visit(path, most_depth, window); }
};

// How MakeDirectory treats an existing directory.
enum class IfExists : std::uint8_t {
  Refuse = 0,
  Accept = 1,   // as `mkdir -p`: makes missing parents too; a directory that exists keeps its mode
  SetMode = 2,  // it must exist, and gets the mode
};

struct MakeDirectory {
  static constexpr auto kType = MessageType::MakeDirectory;
  std::string path;
  std::uint32_t mode = 0755;
  IfExists if_exists = IfExists::Refuse;
  void fields(auto& visit) { visit(path, mode, if_exists); }
};
struct MakeLink {
  static constexpr auto kType = MessageType::MakeLink;
  std::string path;
  std::string target;
  void fields(auto& visit) { visit(path, target); }
};

// Stops and continues every process but init; for backends that cannot freeze from outside.
struct Suspend {
  static constexpr auto kType = MessageType::Suspend;
  void fields(auto& visit) { visit(); }
};
struct Continue {
  static constexpr auto kType = MessageType::Continue;
  void fields(auto& visit) { visit(); }
};
struct Ping {
  static constexpr auto kType = MessageType::Ping;
  void fields(auto& visit) { visit(); }
};
// Ends every exec, as timed out with this reason, and kills every process but init. Answered by
// Done.
struct EndAll {
  static constexpr auto kType = MessageType::EndAll;
  std::string reason;
  void fields(auto& visit) { visit(reason); }
};
// The sandbox no longer ends with its first connection. Sent on another connection, by the maker of
// a container that it has finished preparing. Answered by Done.
struct Release {
  static constexpr auto kType = MessageType::Release;
  void fields(auto& visit) { visit(); }
};
// Sets the ttl to end this long from now; for backends that have no other way to tell init. If the
// host enforces the ttl too, the earlier end counts. Answered by Done.
struct SetTimeLeft {
  static constexpr auto kType = MessageType::SetTimeLeft;
  std::uint64_t left_ms = 0;
  void fields(auto& visit) { visit(left_ms); }
};

struct Output {
  static constexpr auto kType = MessageType::Output;
  Stream stream = Stream::Output;
  std::uint64_t offset = 0;
  std::string bytes;
  void fields(auto& visit) { visit(stream, offset, bytes); }
};

// Init has passed on, or thrown away, all input before `offset`.
struct InputConsumed {
  static constexpr auto kType = MessageType::InputConsumed;
  std::uint64_t offset = 0;
  void fields(auto& visit) { visit(offset); }
};

// Ends an exec conversation, after all output of the exec.
struct Ended {
  static constexpr auto kType = MessageType::Ended;
  ExecResult result;
  void fields(auto& visit) { visit(result); }
};

// Ends a conversation whose request could not be done.
struct Failed {
  static constexpr auto kType = MessageType::Failed;
  ErrorCode code = ErrorCode::Internal;
  std::string message;
  void fields(auto& visit) { visit(code, message); }
};

enum class FileKind : std::uint8_t { Regular = 1, Directory = 2, Link = 3, Other = 4 };

struct FileInfo {
  static constexpr auto kType = MessageType::FileInfo;
  std::string path;  // relative to the directory of a walk; empty for that directory itself
  FileKind kind = FileKind::Other;
  std::uint32_t mode = 0;
  std::uint64_t size = 0;
  std::int64_t modified_ns = 0;
  std::string target;  // of a link
  void fields(auto& visit) { visit(path, kind, mode, size, modified_ns, target); }
};
struct Entries {
  static constexpr auto kType = MessageType::Entries;
  std::vector<FileInfo> entries;
  void fields(auto& visit) { visit(entries); }
};
struct Done {
  static constexpr auto kType = MessageType::Done;
  void fields(auto& visit) { visit(); }
};

}  // namespace nutshell::wire
