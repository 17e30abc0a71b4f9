// Files of the sandbox, read, written and walked by init itself: a path that a stranger chose can
// lead nowhere but into the sandbox, because init has no other view.
#pragma once

#include <memory>

#include "base/unique_fd.h"
#include "init/conversation/conversation.h"

namespace nutshell::init {

// Sends what ReadFile asks for of an open file: `info`, then its bytes.
std::unique_ptr<Conversation> open_read(std::uint32_t number, const wire::ReadFile& request,
                                        UniqueFd file, wire::FileInfo info);

// The file as it is; the path is absolute.
Result<std::unique_ptr<Conversation>> open_read_now(std::uint32_t number,
                                                    const wire::ReadFile& request);

// Does what the frame asks, or begins to.
Result<std::unique_ptr<Conversation>> open_file_conversation(const wire::Frame& frame);

}  // namespace nutshell::init
