// A tool that a model can call, and its result. A tool is data: its schema, its documentation and
// the checks of its arguments are all made from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/exec.h"

namespace nutshell {

struct Parameter {
  enum class Type : std::uint8_t { String, Integer, Boolean, StringList, ObjectList };
  enum class Presence : std::uint8_t { Optional, Required };
  static constexpr std::int64_t kNoBound = std::numeric_limits<std::int64_t>::min();

  std::string name = {};
  Type type = Type::String;
  Presence presence = Presence::Optional;
  std::string help = {};                  // empty: the name says it all
  std::int64_t least = kNoBound;          // of an Integer
  std::int64_t most = kNoBound;           // of an Integer
  std::string by_default = {};            // as JSON; empty: none, or told in the help
  std::vector<std::string> choices = {};  // of a String; empty: any
  std::vector<std::string> aliases = {};  // other names that are accepted
  std::string roomkit_name = {};          // RoomKit's name for it; empty: the same
  std::vector<Parameter> fields = {};     // of each object of an ObjectList
  bool may_hold_nul = false;              // file content; names and patterns may not
};

// Hints for clients that decide which calls a person must allow.
struct ToolHints {
  bool is_read_only = false;
  bool is_destructive = false;
  bool is_idempotent = false;
  bool is_open_world = false;  // reaches beyond the sandbox
};

// An error in three parts: what failed, why (with evidence), and what to do next.
struct ToolError {
  ErrorCode code = ErrorCode::Internal;
  std::string what;
  std::string why = {};  // may have several lines
  std::string next = {};
};

struct ToolImage {
  std::string media_type;
  std::string bytes;
};

struct ToolResult {
  std::string text;                  // what a model reads, within its budget
  std::optional<ToolError> error;    // the text says it too
  std::optional<ExecResult> ending;  // of the command, where the tool ran one to its end
  std::string output_id;             // "o7f3a": recall gives the whole output
  std::string job_id;                // "j4": it still runs
  std::string undo_id;               // "u12"
  std::string fields_json;           // what else programs may want: one JSON object, or empty
  std::optional<ToolImage> image;
  std::string command;  // the command that was run, and its output's parser: for statistics
  std::string parser;
  bool is_cut = false;         // there is more than the text says; the text says how to get it
  std::size_t tokens = 0;      // of the text
  std::size_t raw_tokens = 0;  // of what the text stands for; 0: the same
};

class Arguments;
struct ToolContext;

struct Tool {
  std::string name;
  std::string help;
  std::vector<Parameter> parameters;
  ToolHints hints;
  // Returns an Error for a fault of Nutshell or the sandbox; errors that a model can act on are in
  // the result.
  std::function<Result<ToolResult>(const Arguments&, ToolContext&)> run;
};

// Counts the tokens that a model pays for a text.
class TokenCounter {
 public:
  virtual ~TokenCounter() = default;
  [[nodiscard]] virtual std::size_t count(std::string_view text) const = 0;
};

// Shortens the output of a command for a model.
struct CommandOutput {
  std::string command;  // as typed in a shell; used to recognise the output, never run
  ExecResult ending;
  std::string_view output;
  std::string_view error;
  std::string recall_id;
};
struct RenderedOutput {
  std::string text;
  std::string parser;  // the name of the parser that knew this output; for statistics
  std::size_t tokens = 0;
  std::size_t raw_tokens = 0;
  bool is_cut = false;
};
class OutputRenderer {
 public:
  enum class Style : std::uint8_t { Compact, Raw };
  virtual ~OutputRenderer() = default;
  [[nodiscard]] virtual RenderedOutput render(const CommandOutput& output, Style style,
                                              std::size_t max_tokens) const = 0;
};

}  // namespace nutshell
