#include "server/http/shapes.h"

namespace nutshell::server {
namespace {

using enum Field::Type;
using enum Field::Presence;

constexpr std::int64_t kMostMs = 10LL * 365 * 24 * 3600 * 1000;

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

// Clients that copy files out of a sandbox leave these there, unless their user named them.
Field held_by_field() {
  return {.name = "held_by",
          .help = "a host would run or trust it by itself; 'nutshell apply' holds it back",
          .choices = {"git", "trusted"}};
}

const Shape& requirement_mount_shape() {
  static const Shape shape{"UnsafeMount",
                           {{"source", Text, "directory of the host", Required},
                            {"target", Text, "where it is in the sandbox", Required},
                            {.name = "access", .choices = {"read-only", "read-write"}}}};
  return shape;
}

const Shape& protection_shape() {
  static const Shape shape{"Protection", {{"name"}, {"strength"}, {"by"}, {"fix"}}};
  return shape;
}

}  // namespace

const Shape& problem_shape() {
  static const Shape shape{"Problem",
                           {{"type", Text},
                            {"title", Text, "", Required},
                            {"status", Integer, "", Required},
                            {"code", Text, "our word for it: invalid_argument, not_found, …"},
                            {"detail", Text, "what was being done to what, and why it failed"}}};
  return shape;
}

const Shape& limits_shape() {
  static const Shape shape{
      "Limits",
      {count("memory_bytes", "processes and files in /workspace and /tmp"),
       {.name = "cpus", .type = Number, .help = "1 is one core"},
       {.name = "pids",
        .type = Integer,
        .help = "processes and threads",
        .least = 0,
        .most = 1 << 22},
       count("disk_bytes", "/workspace and /tmp"),
       count("open_files", "per process"),
       milliseconds("cpu_time_ms", "CPU time of one exec, its children included")}};
  return shape;
}

const Shape& spec_shape() {
  static const Shape shape{
      "SandboxSpec",
      {{"backend", Text, "how to isolate; the default is the first there is"},
       {"image", Text, "what the backend understands"},
       {"runtime", Text, "what a container engine runs it with: \"runsc\""},
       {"limits", Object, "", Optional, limits_shape},
       milliseconds("ttl_ms", "how long it lives"),
       milliseconds("idle_timeout_ms", "how long it lives unused; 0: as long as its ttl"),
       {"environment", TextMap, "for every command"},
       {"working_directory", Text},
       {"workspace", Text, "host directory that /workspace begins as, copy-on-write"},
       {.name = "workspace_mode", .choices = {"auto", "overlay", "copy"}},
       {"unsafe_mounts", ObjectList, "", Optional, requirement_mount_shape},
       {"labels", TextMap, "to find it again by"},
       {"require", TextList, "protections it must have: \"seccomp\", \"memory=hard\""},
       {"unsafe_without", TextList, "protections whose absence is accepted"}}};
  return shape;
}

const Shape& sandbox_shape() {
  static const Shape shape{"Sandbox",
                           {{"id", Text, "", Required},
                            {"backend", Text},
                            {.name = "state", .choices = {"running", "paused"}},
                            {"image", Text},
                            {"workspace", Text},
                            {"workspace_mode", Text, "", Nullable},
                            {"unsafe_mounts", ObjectList},
                            {"unsafe_without", TextList},
                            {"working_directory", Text},
                            count("age_ms"),
                            count("ttl_ms"),
                            count("ttl_left_ms"),
                            count("idle_timeout_ms"),
                            count("idle_ms"),
                            {"labels", TextMap},
                            {"limits", Object, "", Optional, limits_shape},
                            {"why_copied", Text, "why /workspace is a copy and no overlay"},
                            {"workspace_began_ns", Text, "what apply compares host files with"},
                            {"session", Text},
                            {"pool", Text},
                            {"protections", ObjectList, "", Optional, protection_shape},
                            count("audit_id")}};
  return shape;
}

const Shape& sandbox_page_shape() {
  static const Shape shape{
      "SandboxPage",
      {{"sandboxes", ObjectList, "", Required, sandbox_shape},
       {"next_cursor", Text, "of the next page; null: this is the last", Nullable}}};
  return shape;
}

const Shape& stats_shape() {
  static const Shape shape{"Stats",
                           {{"memory_bytes", Integer, "as its limit counts it", Nullable},
                            {"peak_memory_bytes", Integer, "", Nullable},
                            {"cpu_ms", Number, "since it was made", Nullable},
                            {"processes", Integer, "with threads", Nullable},
                            {"read_bytes", Integer, "from disks", Nullable},
                            {"written_bytes", Integer, "to disks", Nullable}}};
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
                           {{"protections", ObjectList, "", Required, protection_shape}}};
  return shape;
}

const Shape& exec_shape() {
  static const Shape shape{
      "Exec",
      {{"argv", TextList, "the program and its arguments; no shell reads them", Required},
       {"environment", TextMap, "on top of the sandbox's"},
       {"working_directory", Text},
       {"stdin", Text, "what the command reads"},
       milliseconds("timeout_ms", "then the whole tree is killed"),
       count("output_limit_bytes", "stdout and stderr together"),
       milliseconds("cpu_time_ms", "CPU time, children included"),
       {.name = "trace", .choices = {"off", "summary", "files", "full"}},
       {"detach", Boolean, "answer at once; the command goes on without the caller"},
       {.name = "on_disconnect",
        .help = "of a streamed exec whose client hangs up; keep: it can be resumed",
        .choices = {"keep", "cancel"}}}};
  return shape;
}

const Shape& exec_result_shape() {
  static const Shape shape{"ExecResult",
                           {{"outcome", Text, "exited, signalled, timed_out, …", Required},
                            {"exit_code", Integer, "", Nullable},
                            {"signal", Integer, "", Nullable},
                            {"stdout", Text},
                            {"stderr", Text},
                            {"stdout_base64", Text, "where stdout is no UTF-8"},
                            {"stderr_base64", Text, "where stderr is no UTF-8"},
                            {"duration_ms", Number},
                            {"cpu_ms", Number},
                            {"peak_memory_bytes", Integer},
                            {"stdout_truncated", Boolean},
                            {"stderr_truncated", Boolean},
                            {"detail", Text},
                            {"audit_id", Integer},
                            {"trace", Object}}};
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
       {"spec", Object, "of each sandbox", Optional, spec_shape},
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
