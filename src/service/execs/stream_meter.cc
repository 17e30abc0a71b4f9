#include "service/execs/stream_meter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "wire/exec_loop.h"
#include "wire/network_schema.h"

namespace nutshell::service {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using wire::MessageType;

constexpr std::size_t kMostRunning = 256;

// Calls `step` with each whole frame.
Result<> read_frames(wire::FrameReader& reader, std::string_view bytes,
                     const std::function<Result<>(const wire::Frame&)>& step) {
  for (;;) {
    while (const auto frame = TRY(reader.next()))
      TRY(step(*frame));
    if (bytes.empty()) return {};
    const auto [space, size] = reader.space();
    const std::size_t count = std::min(size, bytes.size());
    std::memcpy(space, bytes.data(), count);
    reader.filled(count);
    bytes.remove_prefix(count);
  }
}

void append(std::string& out, const wire::Frame& frame) {
  wire::append_header(out, frame.conversation, frame.type, frame.payload.size());
  out += frame.payload;
}

// The path that every message which changes a file begins with; empty if the message is too short,
// which init refuses as well.
std::string first_text(std::string_view payload) {
  std::uint32_t size = 0;
  if (payload.size() < sizeof size) return {};
  std::memcpy(&size, payload.data(), sizeof size);
  return std::string(payload.substr(sizeof size, size));
}

std::string_view change_word(MessageType type) {
  switch (type) {
    case MessageType::WriteFile:
    case MessageType::PutFile:
      return "write file";
    case MessageType::EditFile:
      return "edit file";
    case MessageType::Remove:
      return "remove file";
    case MessageType::MakeDirectory:
      return "make directory";
    case MessageType::MakeLink:
      return "make link";
    case MessageType::ReadFile:
      return "read file";
    case MessageType::Undo:
      return "undo";
    case MessageType::Checkpoint:
      return "checkpoint";
    case MessageType::Rollback:
      return "rollback";
    default:
      return {};
  }
}

// The port of a connection to a server inside, such as 'nutshell forward' makes.
std::optional<std::string> dialled_port(const wire::Frame& frame) {
  if (frame.type != MessageType::Dial) return std::nullopt;
  const auto dial = wire::decode<wire::Dial>(frame.payload);
  if (!dial) return std::nullopt;  // init refuses it
  return std::to_string(dial->port);
}

}  // namespace

StreamMeter::~StreamMeter() {
  while (!running_.empty()) {
    const Running& one = running_.begin()->second;
    const auto elapsed =
        std::chrono::duration_cast<microseconds>(Clock::now() - one.operation.begun);
    // The CPU time is unknown, so the wall time is counted for it.
    const Usage used{1, elapsed, elapsed, one.output.bytes() + one.error.bytes()};
    Ending ending;
    ending.outcome = one.outlives_client ? "left running" : "cancelled";
    ending.detail = "the client's stream ended";
    settle(running_.begin(), std::move(ending), used);
  }
}

void StreamMeter::settle(std::map<std::uint32_t, Running>::iterator running, Ending ending,
                         const Usage& used) {
  Running& one = running->second;
  ending.input_sha256 = one.input.hex();
  ending.output_bytes = one.output.bytes() + one.error.bytes();
  ending.output_sha256 = one.output.hex();
  ending.error_sha256 = one.error.hex();
  uses_.count_cpu(ref_);
  uses_.budgets.settle(one.reservation, used);
  one.operation.ending = std::move(ending);
  uses_.operations.end(one.operation);
  running_.erase(running);
}

void StreamMeter::refuse(std::uint32_t conversation, const Error& error, Passed& passed) {
  std::string& out = has_greeted_ ? passed.to_client : refusals_;
  wire::append_frame(out, conversation, wire::Failed{error.code, error.message});
}

Result<Budgets::Reservation> StreamMeter::admit(wire::Exec& exec) {
  ExecRequest& request = exec.request;
  TRY(check_exec(request));
  uses_.count_cpu(ref_);
  auto reservation = TRY(uses_.budgets.reserve(ref_.tenant, ref_.session, request.limits));
  // The client of a command that may drop output does not intend to read all of it.
  const bool may_outlive_client =
      request.on_disconnect == OnDisconnect::Keep || exec.drops_oldest != 0;
  if (!may_outlive_client || reservation.session.empty()) return reservation;
  uses_.budgets.settle(reservation, {});
  return failure(ErrorCode::Unsupported,
                 "a session with a budget runs no command that outlives its client: what it uses "
                 "could not be counted");
}

Result<> StreamMeter::begin_exec(const wire::Frame& frame, Passed& passed) {
  auto exec = TRY(wire::decode<wire::Exec>(frame.payload));
  if (running_.contains(frame.conversation) || running_.size() >= kMostRunning) {
    return failure(ErrorCode::Corrupt, "more execs at once than a stream has conversations for");
  }
  auto operation = uses_.operations.begin(
      caller_, {"exec", subject_of(ref_), uses_.operations.describe(exec.request, ref_.secrets)});
  if (!operation) {
    refuse(frame.conversation, operation.error(), passed);
    return {};
  }
  auto reservation = admit(exec);
  if (!reservation) {
    operation->fail(reservation.error(), "refused");
    uses_.operations.end(*operation);
    refuse(frame.conversation, reservation.error(), passed);
    return {};
  }
  Running& one = running_[frame.conversation];
  one.operation = std::move(*operation);
  one.reservation = std::move(*reservation);
  one.outlives_client = exec.request.on_disconnect == OnDisconnect::Keep;
  wire::append_frame(passed.to_init, frame.conversation, std::move(exec));
  return {};
}

void StreamMeter::note_change(const wire::Frame& frame) {
  const std::string_view word = change_word(frame.type);
  const auto port = dialled_port(frame);
  if (word.empty() && !port) return;
  Ending ending;
  ending.outcome = "asked";
  if (port) {
    ending.detail = uses_.operations.describe_text("port", *port, {});
    uses_.operations.note(caller_, "connect to port", subject_of(ref_), ending);
    return;
  }
  ending.detail = uses_.operations.describe_text("path", first_text(frame.payload), ref_.secrets);
  uses_.operations.note(caller_, std::string(word), subject_of(ref_), ending);
}

Result<> StreamMeter::take_request(const wire::Frame& frame, Passed& passed) {
  if (frame.type == MessageType::Exec) return begin_exec(frame, passed);
  if (frame.type == MessageType::SetTimeLeft) {
    const Error error{ErrorCode::PermissionDenied,
                      "the ttl of a sandbox is the service's: extend it there"};
    Ending ending;
    ending.outcome = fmt::format("refused: {}", to_string(error.code));
    uses_.operations.note(caller_, "extend", subject_of(ref_), ending);
    refuse(frame.conversation, error, passed);
    return {};
  }
  const auto running = running_.find(frame.conversation);
  if (frame.type == MessageType::Input && running != running_.end()) {
    running->second.input.add(TRY(wire::decode<wire::Input>(frame.payload)).bytes);
  }
  if (frame.type == MessageType::Keep && running != running_.end()) {
    if (!running->second.reservation.session.empty()) return {};  // it ends with its client
    running->second.outlives_client = true;
  }
  note_change(frame);
  append(passed.to_init, frame);
  return {};
}

Result<StreamMeter::Passed> StreamMeter::from_client(std::string_view bytes) {
  Passed passed;
  TRY(read_frames(requests_, bytes,
                  [&](const wire::Frame& frame) { return take_request(frame, passed); }));
  return passed;
}

Result<> StreamMeter::take_reply(const wire::Frame& frame) {
  const auto running = running_.find(frame.conversation);
  if (running == running_.end()) return {};
  if (frame.type == MessageType::Output) {
    const auto output = TRY(wire::decode<wire::Output>(frame.payload));
    Running& one = running->second;
    (output.stream == wire::Stream::Error ? one.error : one.output).add(output.bytes);
  } else if (frame.type == MessageType::Ended) {
    const ExecResult result = TRY(wire::decode_end(frame));
    Ending ending;
    ending.outcome = outcome_text(result);
    ending.detail = result.detail;
    settle(running, std::move(ending), usage_of(result));
  } else if (frame.type == MessageType::Failed) {
    Ending ending;
    ending.outcome = "failed";
    ending.detail = TRY(wire::decode<wire::Failed>(frame.payload)).message;
    settle(running, std::move(ending), {1, {}, {}, 0});
  }
  return {};
}

Result<StreamMeter::Passed> StreamMeter::from_init(std::string_view bytes) {
  Passed passed;
  TRY(read_frames(replies_, bytes, [&](const wire::Frame& frame) -> Result<> {
    TRY(take_reply(frame));
    append(passed.to_client, frame);
    if (has_greeted_) return {};
    has_greeted_ = true;
    passed.to_client += refusals_;
    refusals_.clear();
    return {};
  }));
  return passed;
}

}  // namespace nutshell::service
