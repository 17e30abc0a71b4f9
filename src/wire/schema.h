// The wire's vocabulary: the types of all messages between the host and init, and the messages
// about commands and plain files. Those of the tools are in tool_schema.h; there are no others. A
// message is a plain struct that lists its fields once; codec.h turns the list into bytes and back.
// Integers are little-endian, strings and lists carry a 32-bit count. The README beside this file
// tells how the messages form conversations.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error_code.h"

namespace nutshell::wire {

inline constexpr std::uint64_t kMagic = 0x6c6c656873747541ULL;
inline constexpr std::uint32_t kVersion = 1;

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
  std::vector<std::string> argv;
  std::vector<std::string> environment;
  std::string working_directory;
  std::uint8_t standard_input = 0;
  std::uint8_t terminal = 0;
  std::uint8_t on_disconnect = 0;
  std::uint16_t rows = 0;
  std::uint16_t columns = 0;
  std::uint64_t timeout_ms = 0;
  std::uint64_t output_bytes = 0;
  std::uint64_t cpu_ms = 0;
  std::uint32_t window = 0;  // bytes of each stream init may send beyond what was consumed
  // Beyond what init keeps for nobody, the oldest bytes go instead of the command being blocked;
  // the offset of the next Output tells how many.
  std::uint8_t drops_oldest = 0;
  void fields(auto& visit) {
    visit(exec_id, argv, environment, working_directory, standard_input, terminal, on_disconnect,
          rows, columns, timeout_ms, output_bytes, cpu_ms, window, drops_oldest);
  }
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

// Nobody reads this stream any more: the command gets SIGPIPE when it writes there.
struct CloseOutput {
  static constexpr auto kType = MessageType::CloseOutput;
  Stream stream = Stream::Output;
  void fields(auto& visit) { visit(stream); }
};

// Which state of a file is meant. A state that is not kept any more is refused as `expired`.
enum class FileState : std::uint8_t {
  Now = 0,
  BeforeLastChange = 1,  // of this file, by a tool call that can be undone
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

// What is to happen with a directory that may be there already.
enum class Standing : std::uint8_t {
  Refused = 0,   // it must be new
  Accepted = 1,  // as `mkdir -p`: parents are made too, and what is there keeps its mode
  Changed = 2,   // it must be there, and gets the mode
};

struct MakeDirectory {
  static constexpr auto kType = MessageType::MakeDirectory;
  std::string path;
  std::uint32_t mode = 0755;
  Standing standing = Standing::Refused;
  void fields(auto& visit) { visit(path, mode, standing); }
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
// The ttl is over this long from now; for backends that have no other way to tell init. Where the
// host keeps the ttl too, the earlier end counts. Answered by Done.
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

// The one end of an exec; comes after all of its output.
struct Ended {
  static constexpr auto kType = MessageType::Ended;
  std::uint8_t outcome = 0;
  std::int32_t exit_code = 0;
  std::int32_t signal = 0;
  std::string detail;
  std::uint64_t duration_us = 0;
  std::uint64_t cpu_us = 0;
  std::uint64_t peak_memory_bytes = 0;
  std::uint64_t output_bytes = 0;  // as written by the command
  std::uint64_t error_bytes = 0;
  std::uint64_t output_sent = 0;  // of these, what was passed on
  std::uint64_t error_sent = 0;
  void fields(auto& visit) {
    visit(outcome, exit_code, signal, detail, duration_us, cpu_us, peak_memory_bytes, output_bytes,
          error_bytes, output_sent, error_sent);
  }
};

// The one end of a conversation that could not do what was asked.
struct Failed {
  static constexpr auto kType = MessageType::Failed;
  ErrorCode code = ErrorCode::Internal;
  std::string message;
  void fields(auto& visit) { visit(code, message); }
};

enum class FileKind : std::uint8_t { Regular = 1, Directory = 2, Link = 3, Other = 4 };

struct FileInfo {
  static constexpr auto kType = MessageType::FileInfo;
  std::string path;  // relative to where a walk began; empty for that place itself
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
