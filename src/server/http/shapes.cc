#include "server/http/shapes.h"

#include "base/error_code.h"
#include "core/exec.h"
#include "core/sandbox_status.h"

namespace nutshell::server {
namespace {

using enum Field::Type;
using enum Field::Presence;

constexpr std::int64_t kMostMs = 10 * kYearMs;

template <Noun T>
constexpr auto kTaken = shape_of<T, Direction::Taken>;
template <Noun T>
constexpr auto kGiven = shape_of<T, Direction::Given>;

Field milliseconds(std::string name, std::string help) {
  return {.name = std::move(name),
          .type = Integer,
          .help = std::move(help),
          .least = 0,
          .most = kMostMs};
}

Field count(std::string name, std::string help = {}) {
  return {.name = std::move(name), .type = Integer, .help = std::move(help), .least = 0};
}

Field code_field() {
  Field field{.name = "code", .help = "our word for it: invalid_argument, not_found, …"};
  for (std::size_t number = 0; number < kErrorCodes; ++number)
    field.choices.emplace_back(to_string(static_cast<ErrorCode>(number)));
  return field;
}

// Clients that copy files out of a sandbox leave these there, unless their user named them.
Field held_by_field() {
  return {.name = "held_by",
          .help = "a host would run or trust it by itself; 'nutshell apply' holds it back",
          .choices = {"git", "trusted"}};
}

}  // namespace

const Shape& problem_shape() {
  static const Shape shape{"Problem",
                           {{"type", Text},
                            {"title", Text, "", Required},
                            {"status", Integer, "", Required},
                            code_field(),
                            {"detail", Text, "what was being done to what, and why it failed"}}};
  return shape;
}

const Shape& sandbox_page_shape() {
  static const Shape shape{
      "SandboxPage",
      {{"sandboxes", ObjectList, "", Required, kGiven<SandboxStatus>},
       {"next_cursor", Text, "of the next page; null: this is the last", Nullable}}};
  return shape;
}

const Shape& extend_shape() {
  static const Shape shape{"Extend",
                           {{.name = "ttl_ms",
                             .type = Integer,
                             .help = "from now on",
                             .presence = Required,
                             .least = 1,
                             .most = kMostMs}}};
  return shape;
}

const Shape& protections_shape() {
  static const Shape shape{"Protections",
                           {{"protections", ObjectList, "", Required, kGiven<Protection>}}};
  return shape;
}

const Shape& exec_shape() {
  static const Shape shape = [] {
    Shape exec = shape_of<ExecRequest, Direction::Taken>();
    exec.fields.insert(exec.fields.end(),
                       {{.name = "stdin", .help = "what the command reads", .number = 5},
                        {.name = "trace",
                         .help = "what is found out about it besides its result",
                         .choices = {"off", "summary", "files", "full"},
                         .number = 9},
                        {.name = "detach",
                         .type = Boolean,
                         .help = "answer at once; the command goes on without the caller",
                         .number = 14}});
    return exec;
  }();
  return shape;
}

const Shape& exec_result_shape() {
  static const Shape shape = [] {
    Shape result = shape_of<ExecResult, Direction::Given>();
    result.fields.insert(result.fields.end(),
                         {{"stdout", Text},
                          {"stderr", Text},
                          {"stdout_base64", Text, "all of stdout, where it is no UTF-8"},
                          {"stderr_base64", Text, "all of stderr, where it is no UTF-8"},
                          {"audit_id", Integer, "its record"},
                          {"trace", Object, "where the request asked for one"}});
    return result;
  }();
  return shape;
}

const Shape& exec_state_shape() {
  static const Shape shape{"ExecState",
                           {{"exec_id", Text, "", Required},
                            {"sandbox_id", Text},
                            {"state", Text, "running or ended", Required},
                            {"stdout_bytes", Integer, "kept, to be read from any offset"},
                            {"stderr_bytes", Integer},
                            {"result", Object, "once it has ended", Nullable}}};
  return shape;
}

const Shape& signal_shape() {
  static const Shape shape{"Signal",
                           {{.name = "signal",
                             .type = Integer,
                             .help = "its number; none: the whole tree is killed",
                             .least = 1,
                             .most = 64}}};
  return shape;
}

const Shape& file_shape() {
  static const Shape shape{"File",
                           {{"path", Text, "", Required},
                            {.name = "kind", .choices = {"file", "directory", "link", "other"}},
                            {"mode", Text, "octal"},
                            {"size", Integer},
                            {"modified_ns", Integer, "since 1970"},
                            {"target", Text, "of a link"},
                            held_by_field(),
                            {"held_tool", Text, "the tool that would run or trust it"},
                            {"held_why", Text, "one sentence"}}};
  return shape;
}

static const Shape& file_change_shape() {
  static const Shape shape{"FileChange",
                           {{"path", Text, "relative to /workspace", Required},
                            {.name = "kind", .choices = {"added", "modified", "removed"}},
                            count("size_before"),
                            count("size_after"),
                            {"newly_executable", Boolean, "it can be run, and could not before"},
                            held_by_field(),
                            {"held_tool", Text, "the tool that would run or trust it"},
                            {"held_why", Text, "one sentence"}}};
  return shape;
}

const Shape& directory_shape() {
  static const Shape shape{"Directory",
                           {{"entries", ObjectList, "", Required, file_shape},
                            {"truncated", Boolean, "there are more", Required}}};
  return shape;
}

const Shape& changes_shape() {
  static const Shape shape{"Changes", {{"changes", ObjectList, "", Required, file_change_shape}}};
  return shape;
}

const Shape& checkpoint_shape() {
  static const Shape shape{"Checkpoint",
                           {{"checkpoint", Text, "its name"},
                            {"kill", Boolean, "end what runs, which would be refused otherwise"}}};
  return shape;
}

const Shape& apply_shape() {
  static const Shape shape{"Apply",
                           {{"paths", TextList, "empty: all"},
                            {"dry_run", Boolean},
                            {"overwrite", Boolean, "also what others changed meanwhile"}}};
  return shape;
}

const Shape& batch_item_shape() {
  static const Shape shape{"BatchItem",
                           {{"argv", TextList, "", Required},
                            {"environment", TextMap},
                            {"working_directory", Text},
                            milliseconds("timeout_ms", ""),
                            {"files", TextMap, "path inside and content, written before"}}};
  return shape;
}

const Shape& batch_shape() {
  static const Shape shape{
      "Batch",
      {{"items", ObjectList, "each in a sandbox of its own", Required, batch_item_shape},
       {"spec", Object, "of each sandbox", Optional, kTaken<SandboxSpec>},
       {.name = "parallel",
        .type = Integer,
        .help = "at most so many at once",
        .least = 1,
        .most = 256},
       count("output_bytes", "kept of each stream")}};
  return shape;
}

const Shape& batch_results_shape() {
  static const Shape shape{"BatchResults",
                           {{"results", ObjectList, "in the order of the items", Required}}};
  return shape;
}

}  // namespace nutshell::server
