// The wire's whole vocabulary: every message between the host and init, and nothing else.
// A message is a plain struct that lists its fields once; codec.h turns the list into bytes and
// back. Integers are little-endian, strings and lists carry a 32-bit count. The README beside this
// file tells how the messages form conversations.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

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
  std::uint8_t code = 0;
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

// ---- Tools. Paths are absolute, or relative to the sandbox's working directory. Each request is
// answered by its one reply, or by Refused: an answer a model can act on, where Failed is for ours.

// One line what, one line why with evidence, one line what to do.
struct Refused {
  static constexpr auto kType = MessageType::Refused;
  std::string code;  // "not_unique": stable, for programs
  std::string what;
  std::string why;  // may have several lines
  std::string next;
  void fields(auto& visit) { visit(code, what, why, next); }
};

// Answered by TextPage.
struct ReadText {
  static constexpr auto kType = MessageType::ReadText;
  std::string path;
  std::uint64_t first_line = 1;  // counted from 1
  std::uint64_t most_lines = 0;
  std::uint32_t most_bytes = 0;       // of the page's text, at most kMostPageBytes
  std::uint32_t most_line_bytes = 0;  // a longer line is cut, and listed in `cut_lines`
  void fields(auto& visit) { visit(path, first_line, most_lines, most_bytes, most_line_bytes); }
};
inline constexpr std::uint32_t kMostPageBytes = 200U << 10U;

struct CutLine {
  std::uint64_t line = 0;
  std::uint64_t bytes = 0;  // its whole length
  void fields(auto& visit) { visit(line, bytes); }
};
struct TextPage {
  static constexpr auto kType = MessageType::TextPage;
  FileInfo info;
  std::string version;     // short hash of the whole content
  std::string media_type;  // "text/plain", "image/png", "application/x-elf"; text has an encoding
  std::string
      encoding;  // "utf-8", "utf-8-bom", "utf-16le", "utf-16be", "unknown-8bit"; empty: binary
  std::uint8_t has_crlf = 0;
  std::uint8_t ends_with_newline = 0;
  std::uint64_t total_lines = 0;
  std::uint64_t first_line = 0;
  std::uint64_t line_count = 0;  // in `text`
  std::string text;              // the lines as UTF-8, each ended by \n
  std::vector<CutLine> cut_lines;
  void fields(auto& visit) {
    visit(info, version, media_type, encoding, has_crlf, ends_with_newline, total_lines, first_line,
          line_count, text, cut_lines);
  }
};

// Followed by FileData and FileEnd as WriteFile is; answered by Changed. Keeps mode, owner and the
// link that leads to the file; makes missing parents.
struct PutFile {
  static constexpr auto kType = MessageType::PutFile;
  std::string path;
  std::uint32_t mode_if_new = 0644;
  std::string expected_version;  // empty: whatever is there
  void fields(auto& visit) { visit(path, mode_if_new, expected_version); }
};

struct Edit {
  std::string old_text;
  std::string new_text;
  std::uint8_t replaces_all = 0;
  void fields(auto& visit) { visit(old_text, new_text, replaces_all); }
};
// All edits or none; each sees the text the one before left. Answered by Changed.
struct EditFile {
  static constexpr auto kType = MessageType::EditFile;
  std::string path;
  std::vector<Edit> edits;
  std::string expected_version;
  void fields(auto& visit) { visit(path, edits, expected_version); }
};

// Answered by Changed.
struct Remove {
  static constexpr auto kType = MessageType::Remove;
  std::string path;
  std::uint8_t is_recursive = 0;
  void fields(auto& visit) { visit(path, is_recursive); }
};

enum class ChangeKind : std::uint8_t { Added = 1, Modified = 2, Removed = 3 };
// A path that is not as it was. `before` or `after` has kind 0 where there was nothing.
struct FileChange {
  std::string path;  // relative to /workspace, or absolute when elsewhere
  ChangeKind kind = ChangeKind::Modified;
  FileInfo before;
  FileInfo after;
  void fields(auto& visit) { visit(path, kind, before, after); }
};
struct LineRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  void fields(auto& visit) { visit(first, last); }
};

// What a mutating call did. Its id takes it back.
struct Changed {
  static constexpr auto kType = MessageType::Changed;
  std::string undo_id;      // "u12"; empty: nothing changed, or it cannot be taken back
  std::string why_no_undo;  // where it changed something and has no id
  std::string version;      // of the one file, where it is one
  std::uint64_t total_lines = 0;
  std::vector<LineRange> lines;     // new places of an edit
  std::vector<FileChange> changes;  // the first ones
  std::uint64_t total_changes = 0;  // all
  void fields(auto& visit) {
    visit(undo_id, why_no_undo, version, total_lines, lines, changes, total_changes);
  }
};

// Takes a change back, the last one if no id is given; answered by Changed, whose id is the redo's.
struct Undo {
  static constexpr auto kType = MessageType::Undo;
  std::string id;
  void fields(auto& visit) { visit(id); }
};

// Around a command, so that what it does to files can be taken back. Answered by ChangeBegun.
struct BeginChange {
  static constexpr auto kType = MessageType::BeginChange;
  std::string label;
  void fields(auto& visit) { visit(label); }
};
enum class ChangeWay : std::uint8_t {
  Nothing = 0,    // cannot be taken back; `reason` says why
  SameLayer = 1,  // the top layer is still empty: it catches the change
  NewLayer = 2,   // the host must stack `layers` first and say so with UseLayers
  Copy = 3,       // init keeps a copy of the private files
};
struct ChangeBegun {
  static constexpr auto kType = MessageType::ChangeBegun;
  std::string change_id;
  ChangeWay way = ChangeWay::Nothing;
  std::string reason;
  std::vector<std::string> layers;  // lowest first, names in init's store; the last is the new top
  void fields(auto& visit) { visit(change_id, way, reason, layers); }
};
// /workspace now is this stack, lowest first. Answered by Done.
struct UseLayers {
  static constexpr auto kType = MessageType::UseLayers;
  std::vector<std::string> layers;
  void fields(auto& visit) { visit(layers); }
};
// Keeps the files of /workspace as they are now; the reply's change_id is the name to go back by.
// With kills_all, processes that are in the way are killed, and the caller asks again until they
// are gone. Both are answered by ChangeBegun.
struct Checkpoint {
  static constexpr auto kType = MessageType::Checkpoint;
  std::uint8_t kills_all = 0;
  void fields(auto& visit) { visit(kills_all); }
};
// Back to a checkpoint; "base": as /workspace began.
struct Rollback {
  static constexpr auto kType = MessageType::Rollback;
  std::string id;
  std::uint8_t kills_all = 0;
  void fields(auto& visit) { visit(id, kills_all); }
};
// Answered by Changed.
struct EndChange {
  static constexpr auto kType = MessageType::EndChange;
  std::string change_id;
  void fields(auto& visit) { visit(change_id); }
};

// What is different from the base, sorted by path: Changes within the window, then Done.
struct ListChanges {
  static constexpr auto kType = MessageType::ListChanges;
  std::uint32_t window = 0;
  void fields(auto& visit) { visit(window); }
};
struct Changes {
  static constexpr auto kType = MessageType::Changes;
  std::vector<FileChange> changes;
  void fields(auto& visit) { visit(changes); }
};

// Answered by Listing. Entries are sorted: directories first, then by name, byte by byte.
struct ListDirectory {
  static constexpr auto kType = MessageType::ListDirectory;
  std::string path;
  std::uint32_t depth = 1;
  std::uint8_t includes_ignored = 0;
  std::uint64_t offset = 0;  // entries to skip
  std::uint32_t most_entries = 0;
  void fields(auto& visit) { visit(path, depth, includes_ignored, offset, most_entries); }
};
struct ListedEntry {
  FileInfo info;               // path relative to the listed directory
  std::uint64_t children = 0;  // of a directory whose entries are not listed
  void fields(auto& visit) { visit(info, children); }
};
struct Listing {
  static constexpr auto kType = MessageType::Listing;
  std::vector<ListedEntry> entries;
  std::uint64_t total_directories = 0;
  std::uint64_t total_files = 0;
  std::vector<std::string> ignored;  // the first names
  std::uint64_t total_ignored = 0;
  std::uint8_t is_partial = 0;  // stopped at a bound; the totals are of what was seen
  void fields(auto& visit) {
    visit(entries, total_directories, total_files, ignored, total_ignored, is_partial);
  }
};

// Answered by FindPage.
struct FindFiles {
  static constexpr auto kType = MessageType::FindFiles;
  std::string path;
  std::string glob;  // without a slash: of the name alone
  FileKind kind = FileKind::Regular;
  std::uint8_t is_any_kind = 0;
  std::uint8_t includes_ignored = 0;
  std::uint64_t offset = 0;
  std::uint32_t most_results = 0;
  void fields(auto& visit) {
    visit(path, glob, kind, is_any_kind, includes_ignored, offset, most_results);
  }
};
struct FindPage {
  static constexpr auto kType = MessageType::FindPage;
  std::vector<FileInfo> found;  // grouped by directory, that with the newest file first
  std::uint64_t total = 0;
  std::uint64_t ignored = 0;  // entries left out for .gitignore
  std::uint64_t scanned = 0;
  std::uint8_t is_partial = 0;
  void fields(auto& visit) { visit(found, total, ignored, scanned, is_partial); }
};

enum class SearchMode : std::uint8_t { Lines = 0, Files = 1, Count = 2 };
// Answered by SearchPage. Files are in byte order of their paths.
struct Search {
  static constexpr auto kType = MessageType::Search;
  std::string pattern;  // RE2
  std::string path;
  std::string glob;       // empty: all
  std::string file_type;  // "py", "js": empty: all
  SearchMode mode = SearchMode::Lines;
  std::uint32_t context = 0;
  std::uint8_t ignores_case = 0;
  std::uint8_t is_literal = 0;
  std::uint8_t is_multiline = 0;
  std::uint8_t includes_ignored = 0;
  std::uint64_t offset = 0;  // matches (files in the other modes) to skip
  std::uint32_t most_matches = 0;
  std::uint32_t most_bytes = 0;       // of text, at most kMostPageBytes
  std::uint32_t most_line_bytes = 0;  // a longer line is windowed round its match
  std::uint32_t timeout_ms = 0;
  void fields(auto& visit) {
    visit(pattern, path, glob, file_type, mode, context, ignores_case, is_literal, is_multiline,
          includes_ignored, offset, most_matches, most_bytes, most_line_bytes, timeout_ms);
  }
};
struct SearchLine {
  std::uint64_t line = 0;
  std::uint8_t is_context = 0;
  std::uint64_t cut_bytes = 0;  // not shown of it
  std::string text;
  void fields(auto& visit) { visit(line, is_context, cut_bytes, text); }
};
struct SearchedFile {
  std::string path;
  std::uint64_t matches = 0;  // all of them
  std::vector<SearchLine> lines;
  void fields(auto& visit) { visit(path, matches, lines); }
};
struct SearchPage {
  static constexpr auto kType = MessageType::SearchPage;
  std::vector<SearchedFile> files;
  std::uint64_t total_matches = 0;
  std::uint64_t total_files = 0;
  std::uint64_t skipped_binary = 0;
  std::uint64_t ignored = 0;
  std::uint64_t scanned_bytes = 0;
  std::uint8_t is_partial = 0;  // the deadline or a bound came first
  void fields(auto& visit) {
    visit(files, total_matches, total_files, skipped_binary, ignored, scanned_bytes, is_partial);
  }
};

}  // namespace nutshell::wire
