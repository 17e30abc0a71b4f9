#include "init/layers/layers_conversation.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>

#include "init/conversation/one_reply.h"
#include "init/exec/process_marks.h"
#include "init/files/attempt.h"
#include "init/files/change_report.h"
#include "init/files/file_conversations.h"
#include "init/layers/changes_conversation.h"
#include "wire/applied.h"

namespace nutshell::init {
namespace {

using Opened = std::unique_ptr<Conversation>;

constexpr std::string_view kPrefix = "/workspace/";

// Whether no process but init could write to the files. Processes of another user are bridges from
// outside, and touch no files.
bool is_alone(const FilesState& files) {
  if (files.is_writing()) return false;
  if (::kill(-1, 0) != 0 && errno == ESRCH) return true;
  return ProcessMarks().living(ProcessMarks::kAnyMark).empty();
}

wire::Refused who_is_in_the_way(const FilesState& files) {
  if (files.is_writing()) {
    return {ErrorCode::Unavailable, "A file is being written.",
            "A copy into the sandbox, or a call that writes a file, has not ended yet.",
            "Wait for its end."};
  }
  const std::string running = files.running();
  return {ErrorCode::Unavailable, "Something is running in the sandbox.",
          fmt::format("{} could write to the files meanwhile.",
                      running.empty() ? "A process" : running),
          "Wait for its end, stop it, or ask with --kill."};
}

wire::Changed end_change(LayerStack& stack, FilesState& files) {
  auto ended = stack.end();
  if (ended) {
    return report_change(
        files, {std::move(ended->label), std::move(ended->paths), std::move(ended->why_not)});
  }
  wire::Changed changed;
  changed.why_no_undo = "its files cannot all be read: " + printable(ended.error().message);
  return changed;
}

// Ends the begun change, and keeps the report for a later EndChange.
void close_open_change(LayerStack& stack, FilesState& files) {
  const std::string id = stack.open_change();
  if (id.empty()) return;
  wire::Changed report = end_change(stack, files);
  // The other call counts the changes of a command that is only about to start.
  if (report.undo_id.empty() && report.why_no_undo.empty())
    report.why_no_undo = "another call began before this one ended";
  files.closed_changes.add(id, std::move(report));
}

// A change whose caller was killed lasts until its last process ends. It is ended here, before
// another call writes, so that it can be taken back like any other.
void close_abandoned_changes(LayerStack& stack, FilesState& files) {
  const bool has_some = stack.is_abandoned() || !files.open_changes.abandoned().empty();
  if (!has_some || !is_alone(files)) return;
  if (stack.is_abandoned()) close_open_change(stack, files);
  for (std::string id = files.open_changes.abandoned(); !id.empty();
       id = files.open_changes.abandoned()) {
    auto ended = files.open_changes.end(id);
    wire::Changed report;
    if (ended) {
      report = report_change(files, {std::move(ended->label), std::move(ended->paths), {}});
    } else {
      report.why_no_undo = ended.error().what;
    }
    files.closed_changes.add(std::move(id), std::move(report));
  }
}

Result<Opened> begin(const wire::Frame& frame, LayerStack& stack, FilesState& files) {
  if (!stack.is_there() || !is_alone(files)) return nullptr;
  auto request = TRY(wire::decode<wire::BeginChange>(frame.payload));
  close_open_change(stack, files);
  auto begun = stack.begin(std::move(request.label), files.caller);
  if (!begun) return nullptr;  // there is no room for another layer, but a copy may fit
  return std::make_unique<OneReply>(frame.conversation, std::move(*begun));
}

Result<Opened> end(const wire::Frame& frame, LayerStack& stack, FilesState& files) {
  const auto request = TRY(wire::decode<wire::EndChange>(frame.payload));
  if (!stack.is_begun(request.change_id)) return nullptr;
  TRY(stack.look());
  return std::make_unique<OneReply>(frame.conversation, end_change(stack, files));
}

template <typename Propose>
Result<Opened> stack_anew(const wire::Frame& frame, bool kills_all, const FilesState& files,
                          const Propose& propose) {
  if (!is_alone(files)) {
    if (kills_all) ::kill(-1, SIGKILL);
    return std::make_unique<OneReply>(frame.conversation, who_is_in_the_way(files));
  }
  return std::make_unique<OneReply>(frame.conversation, TRY(propose()));
}

Result<Opened> checkpoint(const wire::Frame& frame, LayerStack& stack, FilesState& files) {
  const auto request = TRY(wire::decode<wire::Checkpoint>(frame.payload));
  return stack_anew(frame, request.kills_all != 0, files, [&] {
    close_open_change(stack, files);
    return stack.checkpoint();
  });
}

Result<Opened> rollback(const wire::Frame& frame, LayerStack& stack, FilesState& files) {
  const auto request = TRY(wire::decode<wire::Rollback>(frame.payload));
  return stack_anew(frame, request.kills_all != 0, files, [&] {
    close_open_change(stack, files);
    return stack.rollback(request.id);
  });
}

// A path that cannot be taken over stays a change: the next apply takes it again.
Result<Opened> follow(const wire::Frame& frame, const LayerStack& stack) {
  const auto request = TRY(wire::decode<wire::Applied>(frame.payload));
  wire::Changes left;
  for (const wire::FileChange& change : request.changes) {
    if (!stack.follow(change).value_or(false)) left.changes.push_back(change);
  }
  return std::make_unique<OneReply>(frame.conversation, std::move(left));
}

Result<Opened> read_base(const wire::Frame& frame, const LayerStack& stack) {
  const auto request = TRY(wire::decode<wire::ReadFile>(frame.payload));
  if (request.state != wire::FileState::Base) return nullptr;
  std::string path = request.path;
  if (path.starts_with(kPrefix)) path.erase(0, kPrefix.size());
  const auto entry = TRY(stack.find_in_base(path));
  if (!entry || !S_ISREG(entry->status.st_mode)) {
    return failure(ErrorCode::NotFound,
                   fmt::format("{} was no file when the workspace began", printable(path)));
  }
  const Image image = image_of(entry, path);
  return open_read(frame.conversation, request, TRY(image.content->open()), image.info);
}

bool may_write(wire::MessageType type) {
  using enum wire::MessageType;
  switch (type) {
    case Exec:
    case WriteFile:
    case MakeDirectory:
    case MakeLink:
    case PutFile:
    case EditFile:
    case Remove:
    case Undo:
    case BeginChange:
    case Checkpoint:
    case Rollback:
      return true;
    default:
      return false;
  }
}

}  // namespace

Result<> prepare_for(const wire::Frame& frame, LayerStack& stack, FilesState& files) {
  using enum wire::MessageType;
  if (!may_write(frame.type)) return {};
  TRY(stack.settle());
  close_abandoned_changes(stack, files);
  const bool mounts =
      frame.type == BeginChange || frame.type == Checkpoint || frame.type == Rollback;
  return mounts ? Result<>() : stack.check_in_place();
}

Result<Opened> open_layers_conversation(const wire::Frame& frame, LayerStack& stack,
                                        FilesState& files) {
  using enum wire::MessageType;
  switch (frame.type) {
    case BeginChange:
      return begin(frame, stack, files);
    case EndChange:
      return end(frame, stack, files);
    case ReadFile:
      return read_base(frame, stack);
    default:
      break;
  }
  const bool is_ours = frame.type == wire::Applied::kType || frame.type == UseLayers ||
                       frame.type == ListChanges || frame.type == Checkpoint ||
                       frame.type == Rollback;
  if (!is_ours) return nullptr;
  if (!stack.is_there()) {
    return failure(ErrorCode::Unsupported, "this sandbox keeps no layers of its files");
  }
  if (frame.type == wire::Applied::kType) return follow(frame, stack);
  if (frame.type == Checkpoint) return checkpoint(frame, stack, files);
  if (frame.type == Rollback) return rollback(frame, stack, files);
  if (frame.type == UseLayers) {
    TRY(stack.use(TRY(wire::decode<wire::UseLayers>(frame.payload)).layers));
    return std::make_unique<OneReply>(frame.conversation, wire::Done{});
  }
  TRY(stack.look());
  return std::make_unique<ChangesConversation>(frame.conversation,
                                               TRY(wire::decode<wire::ListChanges>(frame.payload)),
                                               stack.against_base());
}

}  // namespace nutshell::init
