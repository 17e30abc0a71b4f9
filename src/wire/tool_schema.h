// The messages between the host and init for the tools of a model. Paths are absolute, or relative
// to the sandbox's working directory. Each request is answered by its one reply, by Refused if the
// model can act on the reason, or by Failed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wire/schema.h"

namespace nutshell::wire {

// An error in three parts: what failed, why (with evidence), and what to do next.
struct Refused {
  static constexpr auto kType = MessageType::Refused;
  ErrorCode code = ErrorCode::Internal;
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
  std::string expected_version;  // empty: any
  void fields(auto& visit) { visit(path, mode_if_new, expected_version); }
};

struct Edit {
  std::string old_text;
  std::string new_text;
  std::uint8_t replaces_all = 0;
  void fields(auto& visit) { visit(old_text, new_text, replaces_all); }
};
// Makes all edits or none; each sees the text that the one before left. Answered by Changed.
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
// A path that changed. `before` or `after` has kind 0 if nothing was or is there.
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

// The changes that a call made; Undo with its id takes them back.
struct Changed {
  static constexpr auto kType = MessageType::Changed;
  std::string undo_id;      // "u12"; empty: nothing changed, or it cannot be taken back
  std::string why_no_undo;  // if it changed something and has no id
  std::string version;      // of the file, if the call changed one
  std::uint64_t total_lines = 0;
  std::vector<LineRange> lines;     // new places of an edit
  std::vector<FileChange> changes;  // the first ones
  std::uint64_t total_changes = 0;  // all
  void fields(auto& visit) {
    visit(undo_id, why_no_undo, version, total_lines, lines, changes, total_changes);
  }
};

// Takes a change back, the last one if no id is given. Answered by Changed, whose id takes the undo
// back.
struct Undo {
  static constexpr auto kType = MessageType::Undo;
  std::string id;
  void fields(auto& visit) { visit(id); }
};

// Sent before a command, so that its changes to files can be taken back; EndChange is sent after
// it. Answered by ChangeBegun.
struct BeginChange {
  static constexpr auto kType = MessageType::BeginChange;
  std::string label;
  void fields(auto& visit) { visit(label); }
};
enum class ChangeWay : std::uint8_t {
  Nothing = 0,    // cannot be taken back; `reason` says why
  SameLayer = 1,  // the top layer is still empty: it catches the change
  NewLayer = 2,   // the host must mount `layers` first; init sees when it has
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
// Asks whether /workspace is this stack, lowest first. Answered by Done, or by Failed if it is not.
struct UseLayers {
  static constexpr auto kType = MessageType::UseLayers;
  std::vector<std::string> layers;
  void fields(auto& visit) { visit(layers); }
};
// Keeps the files of /workspace as they are now; Rollback takes the change_id of the reply. With
// kills_all, init kills processes that use /workspace, and the caller asks again until they are
// gone. Both are answered by ChangeBegun.
struct Checkpoint {
  static constexpr auto kType = MessageType::Checkpoint;
  std::uint8_t kills_all = 0;
  void fields(auto& visit) { visit(kills_all); }
};
// Goes back to a checkpoint; "base" is the first content of /workspace.
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

// Lists the differences from the base, sorted by path: Changes within the window, then Done.
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
