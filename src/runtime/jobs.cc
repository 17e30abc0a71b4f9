#include "runtime/jobs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/directory.h"
#include "base/fault_point.h"
#include "base/file.h"
#include "base/random_id.h"
#include "core/json_form.h"
#include "core/json_text.h"
#include "runtime/lost_stream.h"
#include "wire/exec_loop.h"

namespace nutshell {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

// The state of a job that outlives the process that started it.
struct Jobs::Record {
  std::string id;  // empty: not a job yet
  std::string exec_id;
  std::string shown;
  std::string output_id;
  std::uint64_t output_offset = 0;
  std::uint64_t error_offset = 0;
  std::uint64_t lines = 0;
  std::int64_t started_ms = 0;
  Change change;
  std::optional<ExecResult> ending;

  NLOHMANN_DEFINE_TYPE_INTRUSIVE(Record, id, exec_id, shown, output_id, output_offset, error_offset,
                                 lines, started_ms)
};

namespace {

constexpr std::uint64_t kMostOutput = 1ULL << 40U;  // the store has a bound of its own
constexpr auto kGrace = 10s;                        // extra time for a slow init
constexpr auto kTermTime = 3s;                      // between SIGTERM and SIGKILL
constexpr char kEndOfInput = '\x04';

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::uint64_t count_lines(const StoredStream& stream) {
  return static_cast<std::uint64_t>(std::count(stream.head.begin(), stream.head.end(), '\n') +
                                    std::count(stream.tail.begin(), stream.tail.end(), '\n')) +
         stream.missing_lines;
}

// 1 if the last line has no newline, so that count_lines() left it out.
std::uint64_t unfinished_line(const StoredStream& stream) {
  const std::string& last = stream.tail.empty() ? stream.head : stream.tail;
  return last.empty() || last.ends_with('\n') ? 0 : 1;
}

// Cuts the output as it is stored, so that the answer says what is missing from it.
void trim(ExecWatch& watch) {
  watch.output.trim();
  watch.error.trim();
}

wire::Exec exec_of(const CommandRequest& request, const std::string& exec_id) {
  const bool is_background = request.wait == 0ms;
  const bool may_outlive = request.wait < request.timeout;
  wire::Exec exec;
  exec.exec_id = exec_id;
  exec.request.argv = request.argv;
  exec.request.environment = request.environment;
  exec.request.working_directory = request.working_directory;
  // A command in the foreground has no input, so that a prompt ends at once.
  exec.request.standard_input = is_background ? StandardInput::Streamed : StandardInput::Empty;
  // While somebody waits, the command ends with whoever waits. keep() changes that.
  exec.request.on_disconnect = is_background ? OnDisconnect::Keep : OnDisconnect::Cancel;
  exec.request.limits = {request.timeout, kMostOutput,
                         std::max<std::chrono::milliseconds>(request.timeout, 300s)};
  exec.window = wire::kWindow;
  exec.drops_oldest = may_outlive ? 1 : 0;
  return exec;
}

std::string shortened(const std::string& command) {
  constexpr std::size_t kMost = 60;
  const std::string line = command.substr(0, command.find('\n'));
  return line.size() <= kMost ? line : line.substr(0, kMost) + "…";
}

bool is_job_id(std::string_view id) {
  return id.size() > 1 && id.size() < 12 && id.front() == 'j' &&
         id.find_first_not_of("0123456789", 1) == std::string_view::npos;
}

}  // namespace

// ---- Changes ------------------------------------------------------------------------------------

// Tries twice: if another command started before the new layer was mounted, init withdraws the
// layer and chooses another way the second time.
Jobs::Change Jobs::begin_change(const std::string& label) {
  Change change = try_change(label);
  return change.id.empty() && change.is_withdrawn ? try_change(label) : change;
}

Jobs::Change Jobs::try_change(const std::string& label) {
  const auto answer = uses_.init.call<wire::ChangeBegun>(wire::BeginChange{shortened(label)});
  if (!answer) return {{}, answer.error().message};
  if (const auto* refused = std::get_if<wire::Refused>(&*answer)) return {{}, refused->what};
  const auto& begun = std::get<wire::ChangeBegun>(*answer);
  if (begun.way == wire::ChangeWay::Nothing) return {{}, begun.reason};
  if (begun.way != wire::ChangeWay::NewLayer) return {begun.change_id, {}};
  fault_point("change.begun");
  const auto stacked = uses_.restack(begun.layers);
  fault_point("change.stacked");
  // After an error the layers may be mounted all the same, so init is asked. After success it sees
  // them by itself before it starts the command.
  if (stacked || uses_.init.use_layers({begun.layers})) return {begun.change_id, {}};
  return {{}, stacked.error().message, true};
}

wire::Changed Jobs::end_change(const Change& change) {
  wire::Changed nothing;
  if (change.id.empty()) {
    nothing.why_no_undo = change.why_not;
    return nothing;
  }
  fault_point("change.over");
  auto answer = uses_.init.call<wire::Changed>(wire::EndChange{change.id});
  fault_point("change.ended");
  if (!answer || std::holds_alternative<wire::Refused>(*answer)) {
    nothing.why_no_undo = answer ? std::get<wire::Refused>(*answer).what : answer.error().message;
    return nothing;
  }
  return std::get<wire::Changed>(std::move(*answer));
}

// ---- Records ------------------------------------------------------------------------------------

Result<> Jobs::save(const Record& record) const {
  nlohmann::json packed = record;
  packed["change"] = {record.change.id, record.change.why_not};
  if (record.ending) packed["ending"] = to_json_text(*record.ending, Written::Kept);
  const fs::path path = place() / record.id;
  const fs::path temporary = path.native() + ".new";
  TRY(write_file(temporary, dump_json(packed), 0600));
  if (::rename(temporary.c_str(), path.c_str()) != 0)
    return syscall_failure("rename", path.native());
  return {};
}

Result<Jobs::Record> Jobs::load(const std::string& id) const {
  if (!is_job_id(id)) return failure(ErrorCode::NotFound, "Jobs are called j1, j2, …");
  const auto text = read_file(place() / id);
  if (!text) return failure(ErrorCode::NotFound, "It was never started, or is long over.");
  try {
    const auto packed = nlohmann::json::parse(*text);
    Record record = packed.get<Record>();
    record.change.id = packed.at("change").at(0).get<std::string>();
    record.change.why_not = packed.at("change").at(1).get<std::string>();
    if (packed.contains("ending"))
      record.ending = TRY(from_json_text<ExecResult>(packed.at("ending").get<std::string>()));
    return record;
  } catch (const nlohmann::json::exception&) {
    return failure(ErrorCode::NotFound, "What was noted about it cannot be read.");
  }
}

std::vector<std::uint64_t> Jobs::numbers() const {
  std::vector<std::uint64_t> found;
  std::error_code error;
  for (const auto& item : fs::directory_iterator(place(), error)) {
    const std::string name = item.path().filename().native();
    if (is_job_id(name)) found.push_back(std::stoull(name.substr(1)));
  }
  std::sort(found.begin(), found.end());
  return found;
}

Result<std::string> Jobs::newest() const {
  const auto found = numbers();
  if (!found.empty()) return fmt::format("j{}", found.back());
  return failure(ErrorCode::NotFound,
                 "no command was started in the background here: 'nutshell run --detach' and the "
                 "tool bash with wait=0 do that");
}

// Returns the next free number. Removes the oldest record if there are too many.
Result<std::string> Jobs::new_id() const {
  TRY(make_directory(place()));
  const std::vector<std::uint64_t> known = numbers();
  std::error_code error;
  for (std::size_t i = 0; i + kMostRemembered <= known.size(); ++i)
    fs::remove(place() / fmt::format("j{}", known[i]), error);
  for (std::uint64_t number = known.empty() ? 1 : known.back() + 1;; ++number) {
    std::string id = fmt::format("j{}", number);
    const auto file = open_file(place() / id, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (file) return id;
    if (file.error().code != ErrorCode::AlreadyExists) return Failure(file.error());
  }
}

// ---- Running and looking ------------------------------------------------------------------------

// Adds the output of this look to the stored output. If it cannot be stored, it has no id, and the
// result is still returned.
void Jobs::store(Record& record, const ExecWatch& watch) {
  StoredOutput whole;
  if (!record.output_id.empty()) {
    if (auto before = uses_.outputs.load(record.output_id)) whole = std::move(*before);
  }
  whole.command = record.shown;
  const auto add = [](StoredStream& kept, const StoredStream& fresh) {
    kept.append(fresh.head);
    if (fresh.missing > 0) kept.skip(fresh.missing);
    kept.append(fresh.tail);
    kept.trim();
  };
  add(whole.output, watch.output);
  add(whole.error, watch.error);
  if (record.output_id.empty()) {
    auto id = uses_.outputs.save(whole);
    if (id) record.output_id = std::move(*id);
  } else if (!uses_.outputs.replace(record.output_id, whole)) {
    record.output_id.clear();
  }
}

CommandState Jobs::state_of(const Record& record) const {
  CommandState state;
  state.shown = record.shown;
  state.ending = record.ending;
  state.job_id = record.id;
  state.output_id = record.output_id;
  state.total_lines = record.lines;
  state.age = std::chrono::milliseconds(std::max<std::int64_t>(0, now_ms() - record.started_ms));
  return state;
}

Result<CommandState> Jobs::settle(Record& record, const ExecWatch& watch) {
  record.output_offset = watch.output_offset();
  record.error_offset = watch.error_offset();
  record.lines += count_lines(watch.output) + count_lines(watch.error);
  record.ending = watch.ending();
  if (record.ending && record.ending->outcome == Outcome::Lost && uses_.why_gone)
    record.ending = explained(std::move(*record.ending), uses_.why_gone());
  const bool has_output = !watch.output.head.empty() || !watch.error.head.empty() ||
                          watch.output.missing + watch.error.missing > 0;
  if (has_output) store(record, watch);
  wire::Changed changed;
  if (record.ending) changed = end_change(record.change);
  if (!record.ending) uses_.init.channel().close();
  if (!record.ending && record.id.empty()) record.id = TRY(new_id());
  if (!record.id.empty()) TRY(save(record));
  CommandState state = state_of(record);
  if (record.ending) state.job_id.clear();
  state.has_all_lines = record.id.empty();  // a job may drop output that nobody waits for
  state.total_lines += unfinished_line(watch.output) + unfinished_line(watch.error);
  state.changed = std::move(changed);
  state.output = whole_text(watch.output);
  state.error = whole_text(watch.error);
  state.missing_bytes = watch.output.missing + watch.error.missing;
  return state;
}

Result<CommandRequest> Jobs::bounded(CommandRequest request) const {
  request.timeout = std::min(request.timeout, uses_.limits.timeout);
  if (uses_.background == BackgroundCommands::Kept) return request;
  if (request.wait == 0ms) {
    return failure(ErrorCode::Unsupported,
                   "a session with a budget runs no command in the background: what it uses could "
                   "not be counted; give `wait` a number of seconds");
  }
  request.wait = request.timeout;
  return request;
}

Result<CommandState> Jobs::run(const CommandRequest& asked) {
  const CommandRequest request = TRY(bounded(asked));
  ExecRequest checked;
  checked.argv = request.argv;
  checked.environment = request.environment;
  checked.working_directory = request.working_directory;
  checked.limits.timeout = request.timeout;
  TRY(check_exec(checked));
  Record record;
  record.exec_id = "tool-" + random_id(16);
  record.shown = request.shown;
  record.started_ms = now_ms();
  record.change = request.reads_only ? Change{} : begin_change(request.shown);
  ExecWatch watch(uses_.init.channel(), uses_.memory);
  wire::Exec exec = exec_of(request, record.exec_id);
  ExecLimits& limits = exec.request.limits;
  limits.cpu_time = std::min<std::chrono::milliseconds>(limits.cpu_time, uses_.limits.cpu_time);
  limits.output_bytes = std::min(limits.output_bytes, uses_.limits.output_bytes);
  watch.start(exec);
  fault_point("change.started");
  const bool may_outlive = request.wait < request.timeout;
  const auto most = may_outlive ? request.wait : request.timeout + kGrace;
  const auto watched = watch.watch(Deadline::in(most), uses_.interrupt);
  if (!watched) {
    (void)end_change(record.change);  // nothing ran, so there is nothing to undo
    return Failure(watched.error());
  }
  if (!watch.ending() && may_outlive) {
    watch.keep();
    TRY(watch.watch(Deadline::in(0ms), uses_.interrupt));
  }
  // A command that was started in the background is a job, even if it has ended already.
  if (request.wait == 0ms) record.id = TRY(new_id());
  trim(watch);
  return settle(record, watch);
}

Result<CommandState> Jobs::look(const JobRequest& request) {
  Record record = TRY(load(request.id));
  if (record.ending) {
    CommandState state = state_of(record);
    state.job_id.clear();
    return state;
  }
  // Reads the output stored before, extends it and writes it again.
  TRY(uses_.memory.take(uses_.outputs.size_of(record.output_id) * CallMemory::kForAByte));
  ExecWatch watch(uses_.init.channel(), uses_.memory);
  watch.attach({record.exec_id, record.output_offset, record.error_offset});
  std::string input = request.input;
  const bool ends_input = input.ends_with(kEndOfInput);
  if (ends_input) input.pop_back();
  if (!input.empty()) watch.send_input(input);
  if (ends_input) watch.end_input();
  if (request.stops) {
    watch.send_signal(SIGTERM);
    TRY(watch.watch(Deadline::in(kTermTime), uses_.interrupt));
    if (!watch.ending()) watch.cancel();
  }
  const auto patience = request.stops ? kGrace : std::chrono::milliseconds(request.wait);
  const auto watched = watch.watch(Deadline::in(patience), uses_.interrupt);
  if (!watched && watched.error().code == ErrorCode::NotFound)
    return failure(ErrorCode::NotFound, "The sandbox no longer knows how it ended.");
  if (!watched) return Failure(watched.error());
  trim(watch);
  return settle(record, watch);
}

}  // namespace nutshell
