#include "init/layers/changes_conversation.h"

#include <algorithm>

namespace nutshell::init {
namespace {

constexpr std::size_t kBatchBytes = 48U << 10U;

}  // namespace

wire::FileChange describe_change(const ChangeWalk::Change& change) {
  using enum wire::ChangeKind;
  auto kind = Modified;
  if (!change.before) kind = Added;
  if (!change.after) kind = Removed;
  return {change.path, kind, image_of(change.before, change.path).info,
          image_of(change.after, change.path).info};
}

ChangesConversation::ChangesConversation(std::uint32_t number, const wire::ListChanges& request,
                                         ChangeWalk walk)
    : number_(number),
      window_(std::max<std::uint64_t>(request.window, 2 * kBatchBytes)),
      walk_(std::move(walk)) {}

Result<> ChangesConversation::receive(const wire::Frame& frame) {
  const auto consumed = TRY(wire::decode<wire::Consumed>(frame.payload));
  consumed_ = std::clamp(consumed.offset, consumed_, sent_);
  return {};
}

Result<> ChangesConversation::collect(wire::Changes& batch) {
  for (std::size_t bytes = 0; bytes < kBatchBytes;) {
    const auto change = TRY(walk_.next());
    if (!change) return {};
    wire::FileChange described = describe_change(*change);
    bytes += described.path.size() + described.before.target.size() +
             described.after.target.size() + 128;
    batch.changes.push_back(std::move(described));
  }
  return {};
}

std::optional<std::string_view> ChangesConversation::ready() {
  if (!frame_.empty()) return frame_;
  if (sent_ - consumed_ >= window_) return std::nullopt;
  wire::Changes batch;
  const auto collected = collect(batch);
  is_last_ = !collected || batch.changes.empty();
  if (!collected) {
    wire::append_frame(frame_, number_,
                       wire::Failed{collected.error().code, collected.error().message});
  } else if (batch.changes.empty()) {
    wire::append_frame(frame_, number_, wire::Done{});
  } else {
    wire::append_frame(frame_, number_, std::move(batch));
    sent_ += frame_.size();
  }
  return frame_;
}

void ChangesConversation::sent() {
  frame_.clear();
  is_over_ = is_last_;
}

}  // namespace nutshell::init
