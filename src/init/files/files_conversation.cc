#include "init/files/files_conversation.h"

#include <fmt/format.h>

#include "init/conversation/one_reply.h"
#include "init/files/change_report.h"
#include "init/files/file_conversations.h"
#include "init/files/mutations.h"
#include "init/files/put_file.h"
#include "init/files/read_text.h"
#include "init/files/undo.h"

namespace nutshell::init {
namespace {

template <typename Reply>
std::unique_ptr<Conversation> answer(std::uint32_t number, Attempt<Reply> attempt) {
  if (attempt) return std::make_unique<OneReply>(number, std::move(*attempt));
  return std::make_unique<OneReply>(number, std::move(attempt).error());
}

Result<std::unique_ptr<Conversation>> open_former(std::uint32_t number,
                                                  const wire::ReadFile& request,
                                                  const FilesState& state) {
  const std::string path = absolute_path(request.path, state.working_directory);
  auto place = find_place(state.roots, path, request.path, LastLink::Follow, Parents::Required);
  const Image* image = state.journal.before_last_change(place ? place->path : path);
  if (image == nullptr) {
    return failure(ErrorCode::Expired,
                   fmt::format("no earlier state of {} is kept", printable(request.path)));
  }
  if (!image->content) {
    return failure(ErrorCode::NotFound,
                   fmt::format("{} was no file before its last change", printable(request.path)));
  }
  return open_read(number, request, TRY(image->content->open()), image->info);
}

}  // namespace

wire::ChangeBegun begin_copied_change(FilesState& state, const wire::BeginChange& request,
                                      const std::vector<std::string>& roots) {
  const auto begun = state.open_changes.begin(request.label, roots, state.caller);
  if (begun.id.empty()) return {{}, wire::ChangeWay::Nothing, begun.reason, {}};
  const std::string running = state.running();
  const std::string reason =
      running.empty() ? "" : fmt::format("not a picture of one moment: {} runs", running);
  return {begun.id, wire::ChangeWay::Copy, reason, {}};
}

Attempt<wire::Changed> end_copied_change(FilesState& state, const wire::EndChange& request) {
  if (auto closed = state.closed_changes.take(request.change_id)) return std::move(*closed);
  auto ended = state.open_changes.end(request.change_id);
  if (!ended) return Refusal(std::move(ended).error());
  return report_change(state, {std::move(ended->label), std::move(ended->paths), {}});
}

Result<std::unique_ptr<Conversation>> open_files_conversation(const wire::Frame& frame,
                                                              FilesState& state) {
  using enum wire::MessageType;
  const std::uint32_t number = frame.conversation;
  const std::string_view payload = frame.payload;
  switch (frame.type) {
    case ReadText:
      return answer(number, read_text(state, TRY(wire::decode<wire::ReadText>(payload))));
    case PutFile:
      return open_put(number, TRY(wire::decode<wire::PutFile>(payload)), state);
    case EditFile:
      return answer(number, edit_file(state, TRY(wire::decode<wire::EditFile>(payload))));
    case Remove:
      return answer(number, remove_file(state, TRY(wire::decode<wire::Remove>(payload))));
    case Undo:
      return answer(number, undo_change(state, TRY(wire::decode<wire::Undo>(payload))));
    case BeginChange:
      return std::make_unique<OneReply>(
          number, begin_copied_change(state, TRY(wire::decode<wire::BeginChange>(payload)),
                                      state.roots.paths()));
    case EndChange:
      return answer(number, end_copied_change(state, TRY(wire::decode<wire::EndChange>(payload))));
    case ReadFile: {
      auto request = TRY(wire::decode<wire::ReadFile>(payload));
      if (request.state == wire::FileState::BeforeLastChange)
        return open_former(number, request, state);
      // It may be relative, like every path of a tool.
      if (request.state != wire::FileState::Now || request.path.starts_with('/')) return nullptr;
      request.path = absolute_path(request.path, state.working_directory);
      return open_read_now(number, request);
    }
    default:
      return nullptr;
  }
}

}  // namespace nutshell::init
