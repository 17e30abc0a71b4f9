#include "init/exec/exec_conversation.h"

namespace nutshell::init {

ExecConversation::~ExecConversation() {
  if (exec_ != nullptr) released_(*exec_);
}

void ExecConversation::detach() {
  exec_ = nullptr;
  reply_.clear();
  wire::append_frame(
      reply_, number_,
      wire::Failed{ErrorCode::Cancelled, "another connection attached to this exec"});
}

Result<> ExecConversation::receive(const wire::Frame& frame) {
  using enum wire::MessageType;
  if (exec_ == nullptr) return {};
  switch (frame.type) {
    case Input:
      return exec_->add_input(TRY(wire::decode<wire::Input>(frame.payload)).bytes);
    case InputEnd:
      exec_->end_input();
      exec_->write_input();
      return {};
    case Keep:
      exec_->keep();
      return {};
    case Cancel:
      exec_->end_with(Outcome::Cancelled, "cancelled by the caller");
      return {};
    default:
      return receive_data(frame);
  }
}

Result<> ExecConversation::receive_data(const wire::Frame& frame) {
  using enum wire::MessageType;
  switch (frame.type) {
    case Consumed: {
      const auto consumed = TRY(wire::decode<wire::Consumed>(frame.payload));
      exec_->stream_of(consumed.stream).consume(consumed.offset);
      return {};
    }
    case Resize: {
      const auto resize = TRY(wire::decode<wire::Resize>(frame.payload));
      exec_->resize(resize.rows, resize.columns);
      return {};
    }
    case Signal:
      exec_->send_signal(static_cast<int>(TRY(wire::decode<wire::Signal>(frame.payload)).number));
      return {};
    case CloseOutput:
      exec_->close_stream(TRY(wire::decode<wire::CloseOutput>(frame.payload)).stream);
      return {};
    default:
      return failure(ErrorCode::Corrupt, "the host sent a message that does not belong to an exec");
  }
}

// Sends output before the end, so that the end always comes last.
std::optional<std::string_view> ExecConversation::ready() {
  if (!reply_.empty()) {
    last_ = exec_ == nullptr ? Last::End : Last::Reply;
    return reply_;
  }
  if (exec_ == nullptr) return std::nullopt;
  if (exec_->stream_of(wire::Stream::Output).has_unsent()) {
    last_ = Last::Output;
    return exec_->stream_of(wire::Stream::Output).unsent_frame(number_);
  }
  if (exec_->stream_of(wire::Stream::Error).has_unsent()) {
    last_ = Last::Error;
    return exec_->stream_of(wire::Stream::Error).unsent_frame(number_);
  }
  if (exec_->has_ended()) {
    wire::append_frame(reply_, number_, exec_->result());
    last_ = Last::End;
    return reply_;
  }
  if (exec_->input_consumed() > announced_input_) {
    announced_input_ = exec_->input_consumed();
    wire::append_frame(reply_, number_, wire::InputConsumed{announced_input_});
    last_ = Last::Reply;
    return reply_;
  }
  return std::nullopt;
}

void ExecConversation::sent() {
  if (last_ == Last::Output) exec_->stream_of(wire::Stream::Output).mark_sent();
  if (last_ == Last::Error) exec_->stream_of(wire::Stream::Error).mark_sent();
  if (last_ == Last::Reply || last_ == Last::End) reply_.clear();
  if (last_ == Last::End) is_over_ = true;
  last_ = Last::None;
}

}  // namespace nutshell::init
