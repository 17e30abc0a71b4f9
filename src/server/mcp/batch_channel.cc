#include "server/mcp/batch_channel.h"

namespace nutshell::mcp {

void BatchChannel::respond(std::string_view message, int /*error_code*/) {
  const std::lock_guard lock(mutex_);
  if (!message.empty()) {
    answers_ += answers_.empty() ? '[' : ',';
    answers_ += message;
  }
  if (--missing_ > 0) return;
  if (answers_.empty()) return below_->abandon();
  answers_ += ']';
  below_->respond(answers_, 0);
}

}  // namespace nutshell::mcp
